//! The project's own tooling, in the order a change meets it: `cargo xtask check`, `test`, `fuzz`, `generate`,
//! `peers`. Nothing here ships; the product does not know that it exists.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its terminal")]

mod arrows;
mod bare;
mod bench_packages;
mod beside;
mod built;
mod check;
mod clients;
mod container;
mod demo;
mod differential;
mod dist;
mod driven;
mod faults;
mod folders;
mod frameworks;
mod fuzz;
mod gateways;
mod generate;
mod generators;
mod instructions;
mod lab;
mod lane;
mod lean;
mod licences;
mod links;
mod metadata;
mod opcua;
mod opcua_bench;
mod package_c;
mod package_go;
mod package_java;
mod package_node;
mod package_python;
mod package_static;
mod package_wasm;
mod peers;
mod plans;
mod pool;
mod process;
mod programs;
mod readme;
mod recorded;
mod release;
mod report;
mod room;
mod sessions;
mod sources;
mod test;
mod tools;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <command>

  check                  formatting, lints, arrows between crates, the lean kernel, licences, generated files
  test                   check, then every test, a short fuzz, the release binary and the README's commands
  bare                   install every package on a bare Debian or Alpine without a network, ask for a decision, remove it; needs root, and
                         the packages of languages that `package NAME` makes
                         --binary PATH   package this binary      --static PATH   and this one for musl
                         --only WORD     kinds with this in their name
  bench-packages         measure the packages for other languages, and what they add to Rust, beside packages of others
                         --rounds N      how many, in turns (default 41)  --ms N    each measurement (default 30)
                         --only LANGUAGE rust is measured anyway          --json FILE
  browser                have users of applications log in with Chromium: the login pages without scripts, on a narrow screen, by keyboard
  clients [WORD]         ask `durward serve` with the client packages of others, or those with WORD in their name
  container              a node with users and policies in 64 MiB, under load for ten minutes: what fits, and whether every answer is right
                         --binary DURWARD   the node         --driver DURWARD    what makes the load
                         --minutes N  --memory SIZE  --departments N,N (of 33 policies each)
  differential           every index against the plain evaluator, a million questions or more
                         --questions N   how many at least      --seed S   draw others
  dist                   build the binary that ships, linked as a whole, weigh it, and make its packages
                         --target TRIPLE   for another machine     --binary PATH      package this binary, build none
                         --out DIR         where the packages go   --generator PATH   a durward that runs here, for man pages
                         --key FILE        sign, with a key of minisign
                         --url URL         where archives are fetched from: write the formula of Homebrew
  dist collect DIR       sums, signatures and formula of packages for several targets; takes --key and --url
  faults                 kill nodes and servers of the session store under load, and look whether all that was promised holds
                         --rounds N      how many kills (default 30)
  frameworks             programs of Express, Fastify, FastAPI and Spring Boot with our guards, under load: every answer, memory, and what
                         a guard costs; needs the packages of languages that `package NAME` makes
                         --binary DURWARD   what makes the load      --seconds N  --rounds N  --only NAME
  fuzz [TARGET]          fuzz one target, or all in turn      --seconds N   how long each (default 60)
                         --asan          watch memory, too: AddressSanitizer
  gateways               measure what a check of each request costs nginx, Caddy, HAProxy and Envoy, set up as the manual says, beside the same
                         gateways without it; and Envoy's calls on one connection
                         --rounds N  --seconds N  --rate N  --users N  --only NAME (calls is one)  --json FILE
                         --binary DURWARD   what is asked         --driver DURWARD     what makes the load
                         --checks PROGRAM   the example envoy_checks of durward-bench
  generate               write the generated documents again  --check       only say which are stale
  generators             measure `durward lab run` beside wrk, hey and k6, those that are installed
                         --rounds N  --seconds N  --users N  --rate N  --binary DURWARD
  instructions           count the instructions of decisions  --bless       keep what is counted now
  lean                   the decision point with few of its features: how many crates, and for which targets
  opcua [PEER...]        stacks of OPC UA of others, through the gate and behind it: open62541, milo, asyncua, node-opcua
  opcua-bench            measure connects of durward, Eclipse Milo and async-opcua, client and server of one stack
                         --rounds N  --connects N  --binary DURWARD
  package c              build the library for C, install it, and run its tests there, under valgrind too
  package go             build the library for C in release profile, and run the tests and the README's program of the
                         package for Go with it, from other modules, without a network
  package java           build the jar for Java with the library of this machine inside, and run its tests with that
  package node           build the packages for Node, install them without a network, run their tests; then the middleware
                         in Express, Connect and Fastify, which npm fetches
  package minimal        the smallest build, XACML over HTTP alone, static as below; serve CONTINUE with it, within little memory
  package static         build binaries that need nothing of the machine, for x86-64, ARM64 and ARMv7; run, ask and package each
                         --target TRIPLE   only this one           --profile NAME   such as release, sooner built than dist
                         --out DIR         where packages go       --reproducible   build again in another folder, and compare
  package python         build the wheel for Python, install it without a network, run its tests; then the guards in
                         FastAPI, Flask and Django, which pip fetches
  package wasm           build the package of WebAssembly, install it, and run its tests in Node, Deno and Chromium, which npm
                         and Debian fetch
  peers                  measure beside other engines         --rounds N    repetitions (default 5)
                                                              --seconds N   each measurement (default 2)
                                                              --only NAME   one engine, such as cedar
                                                              --on WORD     policies with this in their name
  peers check            only compare decisions with the engines in Rust, on small scenarios
  plans                  filters of plans in PostgreSQL, MariaDB and SQLite, and in the libraries that applications use
                         --policies N    of random policies (default 100,000)      --seed S   draw others
  plans page             measure how soon the first page of a million rows is there, by 10,000 policies, in PostgreSQL
  sessions [FLAG...]     measure sessions on three nodes over three NATS servers, in each mode; the flags go to
                         `durward bench sessions`, such as --seconds 2 or --json
  sessions ldap [FLAG..] measure logins and the study's mix of users in an OpenLDAP directory, on the node's core

CI=true turns what would be skipped for want of a tool into a failure.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<ExitCode, String> {
    match words {
        ["check"] => Ok(check::run_alone()),
        ["lean"] => Ok(lean::run_alone()),
        ["test"] => Ok(test::run_alone()),
        // What `test` starts itself with.
        ["lane-step", name, file] => lane::run_step(&test::lane_steps(), name, file),
        ["bench-packages", rest @ ..] => bench_packages::run(rest),
        ["browser"] => Ok(clients::run_browser()),
        ["clients"] => Ok(clients::run_alone("")),
        ["clients", word] => Ok(clients::run_alone(word)),
        ["bare", rest @ ..] => bare::run_alone(rest),
        ["container", rest @ ..] => container::run_alone(rest),
        ["differential", rest @ ..] => differential::run_alone(rest),
        ["faults", rest @ ..] => faults::run_alone(rest),
        ["frameworks", rest @ ..] => frameworks::run_alone(rest),
        ["fuzz", rest @ ..] => fuzz::run_alone(rest),
        ["gateways", rest @ ..] => gateways::run_alone(rest),
        ["generate"] => generate::run(generate::Mode::Write),
        ["generate", "--check"] => generate::run(generate::Mode::Check),
        ["opcua", names @ ..] => opcua::run_alone(names),
        ["package", "c"] => Ok(package_c::run_alone()),
        ["package", "go"] => Ok(package_go::run_alone()),
        ["package", "java"] => Ok(package_java::run_alone()),
        ["package", "node"] => Ok(package_node::run_alone()),
        ["package", "python"] => Ok(package_python::run_alone()),
        ["package", "wasm"] => Ok(package_wasm::run_alone()),
        ["package", "static", rest @ ..] => package_static::run_alone(package_static::Kind::Full, rest),
        ["package", "minimal", rest @ ..] => package_static::run_alone(package_static::Kind::Minimal, rest),
        ["peers", "check"] => Ok(peers::check_alone()),
        ["plans", rest @ ..] => plans::run_alone(rest),
        ["dist", rest @ ..] => dist::run_alone(rest),
        ["generators", rest @ ..] => generators::run_alone(rest),
        ["instructions", rest @ ..] => instructions::run_alone(rest),
        ["opcua-bench", rest @ ..] => opcua_bench::run_alone(rest),
        ["peers", rest @ ..] => peers::run(rest),
        ["sessions", rest @ ..] => sessions::run_alone(rest),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        other => Err(format!("unknown command `{}`\n\n{HELP}", other.join(" "))),
    }
}
