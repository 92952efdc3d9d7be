//! `durward pages preview`: what a theme's author sees.

use std::fs;
use std::path::PathBuf;

use crate::durward;

/// A directory of a test's own, without anything in it.
fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("durward-login-pages-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn a_theme_is_seen_before_users_see_it() {
    let place = directory("good");
    let path = |name: &str| place.join(name).display().to_string();
    fs::write(path("theme.toml"), "product = 'Plant 7'\n[light]\nsoft = '#aaa'\n").unwrap();
    fs::create_dir(path("languages")).unwrap();
    fs::write(path("languages/fr.toml"), "password_heading = 'Connexion'\n").unwrap();
    let (theme, languages, out) = (path("theme.toml"), path("languages"), path("out"));
    let ran =
        durward(&["pages", "preview", "--theme", &theme, "--languages", &languages, "--out", &out]).exits(0);
    assert_eq!(ran.stdout, format!("100 files; open {out}/index.html\n"));
    assert!(
        ran.stderr.contains("warning: ") && ran.stderr.contains("`light.soft` on `light.card`"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("fr.toml: these keys are missing"), "{}", ran.stderr);
    let page = fs::read_to_string(path("out/fr-password.html")).unwrap();
    assert!(page.contains("<h1>Connexion</h1>") && page.contains("Plant 7"), "{page}");
    // Again, after a change: the same names.
    durward(&["pages", "preview", "--out", &out, "--product", "Plant 8"]).exits(0);
    assert!(fs::read_to_string(path("out/en-password.html")).unwrap().contains("Plant 8"));
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_theme_that_cannot_be_used_is_told_by_its_line() {
    let place = directory("bad");
    let theme = place.join("theme.toml").display().to_string();
    let out = place.join("out").display().to_string();
    fs::write(&theme, "[light]\naccent = 'blue'\n").unwrap();
    let ran = durward(&["pages", "preview", "--theme", &theme, "--out", &out]).exits(2);
    assert!(ran.stderr.contains("theme.toml:2:10: `blue` is no colour"), "{}", ran.stderr);
    assert!(!place.join("out").exists());
    let missing = place.join("no.toml").display().to_string();
    let ran = durward(&["pages", "preview", "--theme", &missing, "--out", &out]).exits(2);
    assert!(ran.stderr.contains("no.toml: No such file or directory\n"), "{}", ran.stderr);
    fs::remove_dir_all(place).unwrap();
}
