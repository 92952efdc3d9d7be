//! The schema of scenarios, held to the scenarios that ship and to the reader.

use std::fs;

use durward_lab::scenario::{Scenario, schema};
use jsonschema::Validator;
use serde_json::Value;

fn validator() -> Validator {
    jsonschema::draft7::new(&schema()).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
}

/// All that ships: those of the studies, and the example of the manual.
fn shipped() -> Vec<(String, String)> {
    let root = durward_testdata::workspace();
    let folder = fs::read_dir(root.join("crates/durward-lab/scenarios")).unwrap();
    let paths = folder
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let mut all: Vec<(String, String)> =
        paths.map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap())).collect();
    let manual = fs::read_to_string(root.join("docs/lab-run.md")).unwrap();
    let blocks = manual.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    all.extend(blocks.filter(|text| text.contains("[[steps]]")).map(|text| ("lab-run.md".to_owned(), text)));
    all
}

#[test]
fn every_scenario_that_ships_fits_the_schema() {
    let (validator, all) = (validator(), shipped());
    assert!(all.len() >= 5, "{}", all.len());
    for (name, text) in all {
        let problems: Vec<String> = validator
            .iter_errors(&json(&text))
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{name}: {problems:?}");
    }
}

/// A scenario with this in it; the first is right, the others are not.
const STEP: &str = "[[steps]]\npath = \"/\"\n";

#[test]
fn what_the_reader_takes_fits_and_what_it_refuses_does_not() {
    let validator = validator();
    let table = [
        ("[load]\nusers = 10\n", true),
        ("[load]\nusers = [1, 2]\nthink = \"1s\"\n", true),
        ("[load]\nusers = 1\nthink = { mean = \"10ms\", distribution = \"constant\" }\n", true),
        ("[load]\narrivals = { rate = [1.5, 2], distribution = \"poisson\" }\nwarm_up = \"auto\"\n", true),
        ("[load]\narrivals = { steps = [{ rate = 1, for = \"2s\" }] }\n", true),
        ("[load]\nusers = 1\nbalance = [\"sticky\", \"round-robin\"]\n", true),
        ("[load]\nusers = 1\n[target]\ncommand = [\"a\"]\nlimits = { memory = \"64M\", cpus = 0.5 }\n", true),
        ("[load]\nusers = 1\n[thresholds]\n\"p99.9\" = \"1s\"\nerrors = \"0.5%\"\nrate = 3\n", true),
        ("[load]\nusers = 1\n[vary]\nlogout = [0, 5]\n", true),
        ("[load]\nusres = 10\n", false),
        ("[load]\nusers = \"ten\"\n", false),
        ("[load]\nusers = 1\nmeasure = \"5 years\"\n", false),
        ("[load]\nusers = 1\nmeasure = 5\n", false),
        ("[load]\nusers = 1\nthink = { distribution = \"constant\" }\n", false),
        ("[load]\nusers = 1\nbalance = \"sticki\"\n", false),
        ("[load]\nusers = 1\n[target]\naddreses = []\n", false),
        ("[load]\nusers = 1\n[target]\nlimits = { memory = \"64X\" }\n", false),
        ("[load]\nusers = 1\n[thresholds]\np98 = \"1s\"\n", false),
        ("[load]\nusers = 1\n[thresholds]\np99 = 5\n", false),
        ("[load]\nusers = 1\n[thresholds]\nsteps.x.p99 = 5\n", false),
        ("[loda]\nusers = 1\n", false),
    ];
    for (text, is_right) in table {
        let text = format!("{text}{STEP}");
        // `x` is no step, which the reader alone can know.
        let is_read = Scenario::read(&text).is_ok();
        assert_eq!((is_read, validator.is_valid(&json(&text))), (is_right, is_right), "{text}");
    }
}

#[test]
fn keys_of_steps_are_checked_within_loops_too() {
    let validator = validator();
    let with = |step: &str| json(&format!("[load]\nusers = 1\n[[steps]]\nrepeat = 2\nsteps = [{step}]\n"));
    assert!(validator.is_valid(&with("{ path = \"/\", capture.a = { json = \"/a\" } }")));
    assert!(!validator.is_valid(&with("{ path = \"/\", captur.a = { json = \"/a\" } }")));
    assert!(!validator.is_valid(&with("{ path = \"/\", percent = \"five\" }")));
    assert!(!validator.is_valid(&with("{ use = \"durward-logn\" }")));
    assert!(validator.is_valid(&with("{ use = \"durward-logout\" }")));
}

#[test]
fn every_key_says_what_it_is() {
    let schema = schema();
    let mut missing = Vec::new();
    let mut seen = 0;
    let tables =
        schema["definitions"].as_object().unwrap().iter().map(|(name, table)| (name.as_str(), table));
    for (name, table) in tables.chain([("the scenario", &schema)]) {
        for (key, value) in table["properties"].as_object().into_iter().flatten() {
            seen += 1;
            if value["description"].as_str().is_none_or(str::is_empty) {
                missing.push(format!("{name}.{key}"));
            }
        }
    }
    assert!(seen > 80 && missing.is_empty(), "{seen} keys, without words: {missing:?}");
}
