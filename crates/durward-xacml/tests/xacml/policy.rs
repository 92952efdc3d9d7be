use durward_xacml::policy::*;
use std::path::{Path, PathBuf};
fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for e in std::fs::read_dir(dir).unwrap() {
        let p = e.unwrap().path();
        if p.is_dir() {
            files(&p, out)
        } else if p.to_string_lossy().contains(".xml") {
            out.push(p)
        }
    }
}
#[test]
fn scratch() {
    let mut v = vec![];
    files(Path::new("/work/shared/data/xacml"), &mut v);
    v.sort();
    let mut kinds = std::collections::HashMap::new();
    for f in v {
        let t = std::fs::read(&f).unwrap();
        let k = root_kind(&t);
        *kinds.entry(k).or_insert(0) += 1;
        if matches!(k, RootKind::Policy | RootKind::PolicySet) {
            if let Err(e) = read_policy(f.to_str().unwrap(), &t, &Limits::default()) {
                for e in e {
                    println!("{e}")
                }
            }
        } else if !matches!(k, RootKind::Request | RootKind::Response) {
            println!("{k:?} {f:?}")
        }
    }
    println!("{kinds:?}");
}
