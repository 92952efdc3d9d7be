//! The report of the study: what came of it, the paper's tables and claims beside ours, and why they differ.

use std::collections::BTreeMap;

use super::engine::ANEW;
use super::figures::{EngineRow, EngineState, at_paper, rows, short};
use super::paper::{ENDED, LESS_MEMORY, PDPS, SAMPLED_S, SENT};
use super::{EngineFacts, StudyFacts, pictures};
use crate::draw::{bytes, percent, whole};
use crate::report::{Block, Document};
use crate::study::{PaperNumber, StudyDigest, number_table};

/// The engine that stands where the paper has Luas.
const OURS: &str = "durward";
/// The number of the paper's greatest load.
const GREATEST: usize = SENT.len() - 1;

/// What the figures come to.
pub(super) fn document(digest: &StudyDigest) -> Document {
    let facts: StudyFacts = serde_json::from_value(digest.facts.clone()).unwrap_or_default();
    let rows = rows(digest, &facts);
    let mut document = Document::new("The Luas study: decision points under bursts");
    document.blocks.push(Block::Verdict(verdict(&facts, &rows)));
    warnings(&mut document, digest, &facts, &rows);
    setting(&mut document, digest, &facts);
    paper(&mut document, &facts, &rows);
    measured(&mut document, &rows);
    used(&mut document, &rows);
    decisions(&mut document, &facts);
    why(&mut document, &rows);
    again(&mut document);
    document
}

/// The fastest first: of those that decide rightly and answered all.
fn verdict(facts: &StudyFacts, rows: &[EngineRow<'_>]) -> Vec<String> {
    let mut said = Vec::new();
    let greatest = rows.iter().map(|row| row.sent).max().unwrap_or(0);
    for state in [EngineState::Cold, EngineState::Warm] {
        let of_state = rows.iter().filter(|row| row.state == state && row.sent == greatest && row.counts());
        let mut ranked: Vec<(f64, &EngineRow<'_>)> =
            of_state.filter_map(|row| Some((row.spread(|all| all.p99_ms)?.median, row))).collect();
        ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
        if ranked.is_empty() {
            continue;
        }
        let each: Vec<String> =
            ranked.iter().map(|(p99, row)| format!("{} {} ms", row.engine.title, short(*p99))).collect();
        let how = match state {
            EngineState::Cold => "Freshly started, as the paper's containers were",
            EngineState::Warm => "Warm",
        };
        said.push(format!(
            "{how}: the 99th percentile of {} requests in bursts is {}.",
            whole(as_f64(greatest)),
            each.join(", ")
        ));
    }
    let failed = rows.iter().filter(|row| row.answered() < row.due());
    let failed: Vec<String> = failed
        .map(|row| format!("{}, {}, {} of {}", row.engine.title, row.state.word(), row.answered(), row.due()))
        .collect();
    said.push(if failed.is_empty() {
        "Every engine answered every request in time, at every load.".to_owned()
    } else {
        format!("Not every request was answered in time: {}. All others were.", failed.join("; "))
    });
    let wrong: Vec<&EngineFacts> = facts.engines.iter().filter(|engine| engine.wrong > 0).collect();
    let asked: Vec<&EngineFacts> = facts.engines.iter().filter(|engine| engine.asked > 0).collect();
    said.push(if wrong.is_empty() {
        let most = asked.iter().map(|engine| engine.asked).max().unwrap_or(0);
        format!(
            "Every engine gave the right decision to each of the {} questions that it was asked.",
            whole(as_f64(most as u64))
        )
    } else {
        let each: Vec<String> = wrong
            .iter()
            .map(|engine| {
                format!("{} decides {} of {} questions wrongly", engine.title, engine.wrong, engine.asked)
            })
            .collect();
        format!("{}: times of wrong answers are no speed, and are not compared.", each.join("; "))
    });
    said
}

fn warnings(document: &mut Document, digest: &StudyDigest, facts: &StudyFacts, rows: &[EngineRow<'_>]) {
    for engine in &facts.engines {
        if let Some(why) = &engine.missing {
            document.blocks.push(Block::Warning(format!("{} was not measured: {why}.", engine.title)));
        }
        if let Some(example) = &engine.example {
            document.blocks.push(Block::Warning(format!("{} is wrong: {example}.", engine.title)));
        }
    }
    let mut marks: BTreeMap<String, usize> = BTreeMap::new();
    for mark in rows.iter().flat_map(|row| &row.points).flat_map(|point| &point.marks) {
        *marks.entry(mark.to_string()).or_default() += 1;
    }
    for (mark, count) in marks {
        document.blocks.push(Block::Warning(format!("At {count} of the points {mark}.")));
    }
    for run in &digest.runs {
        if let Some(why) = run.failed.as_ref().or(run.cut_short.as_ref()) {
            document.blocks.push(Block::Warning(format!("Run `{}` is not whole: {why}.", run.name)));
        }
    }
}

fn setting(document: &mut Document, digest: &StudyDigest, facts: &StudyFacts) {
    document.heading("What was measured, and on what");
    document.text(
        "The study is F. Zhang, B. Butler, B. Jennings, \"An Access Control Implementation Targeting Resource-constrained \
         Environments\": a decision point in JavaScript, Luas, beside Balana and AT&T XACML, each an HTTP server in a container of 1 \
         core and 512 MB. 100 users send 5, 10, 15 or 20 requests each, in bursts every second for 5 s. Luas is not available \
         any more: its package was removed, and the name of its image is not known. If you have one, `--engine \
         luas=image:PORT:IMAGE` measures it. durward takes its place, and AuthzForce is added.",
    );
    document.text(&format!("Policies: {}.", facts.policies));
    let machine = &digest.machine;
    let processor = machine.processor.as_deref().unwrap_or("an unknown processor");
    let memory = machine.memory_bytes.map(|size| format!(", {}", bytes(as_f64(size)))).unwrap_or_default();
    document.text(&format!(
        "Machine: {} cores of {processor}{memory}, {}. durward {}, form `{}`. Load generator and servers share the machine; a server may \
         use one core of it.",
        machine.cores, machine.system, digest.version, digest.form
    ));
    let target = |missing: bool| {
        let lines = digest.runs.iter().flat_map(|run| &run.targets);
        let mut lines: Vec<String> = lines
            .flat_map(|target| if missing { &target.limits_missing } else { &target.limits })
            .cloned()
            .collect();
        lines.sort();
        lines.dedup();
        lines
    };
    let (set, missing) = (target(false), target(true));
    if !set.is_empty() {
        document.text(&format!("Limits of each server in force: {}.", set.join("; ")));
    }
    if !missing.is_empty() {
        document
            .blocks
            .push(Block::Warning(format!("Limits that could not be set: {}.", missing.join("; "))));
    }
    document.text(
        "The engines in Java come from Maven Central and answer behind the JDK's own HTTP server, with eight threads, policies read once, \
         the serial collector and the heap that a virtual machine takes by itself in 512 MB (a quarter of it). \"Cold\" is a \
         process that has just become ready, a new one for each load; \"warm\" follows ten seconds of the same bursts. Each request is sent when it is due, on a connection that is free, or on a new one; connections are kept. An answer counts \
         where it has status 200 and the right decision. Latency counts from when a request was due.",
    );
}

/// Tables I and II, sizes and claims, number by number.
fn paper(document: &mut Document, facts: &StudyFacts, rows: &[EngineRow<'_>]) {
    document.heading("The paper's numbers beside ours");
    let reliability = |row: &EngineRow<'_>| format!("{} of {}", row.answered(), row.due());
    let completed: Vec<PaperNumber> = numbers("table I", rows, &reliability, &|pdp, number| {
        pdp.completed
            .get(number)
            .map(|count| format!("{count} of {}", SENT.get(number).copied().unwrap_or(0)))
    });
    number_table(document, "Reliability: answers in time, of requests sent.", &completed);
    for (name, is_p95) in [("95th", true), ("99th", false)] {
        let ours = |row: &EngineRow<'_>| {
            let spread = if is_p95 { row.spread(|all| all.p95_ms) } else { row.spread(|all| all.p99_ms) };
            let text =
                spread.map_or_else(|| "none answered".to_owned(), |spread| format!("{} ms", spread.text()));
            if row.engine.wrong > 0 { format!("wrong decisions ({text})") } else { text }
        };
        let latency = numbers("table II", rows, &ours, &|pdp, number| {
            pdp.latency_ms.get(number).map(|(p95, p99)| format!("{} ms", if is_p95 { p95 } else { p99 }))
        });
        number_table(document, &format!("Latency: the {name} percentile of answers in time."), &latency);
    }
    number_table(document, "Sizes, memory, and the end of a run.", &claims(facts, rows));
}

/// One number of the paper for each of its engines and loads.
fn numbers(
    place: &str,
    rows: &[EngineRow<'_>],
    ours: &dyn Fn(&EngineRow<'_>) -> String,
    paper: &dyn Fn(&super::paper::PaperPdp, usize) -> Option<String>,
) -> Vec<PaperNumber> {
    let mut numbers = Vec::new();
    for pdp in &PDPS {
        for (number, sent) in SENT.iter().enumerate() {
            let engine = pdp.ours.unwrap_or(OURS);
            let both: Vec<String> = [EngineState::Cold, EngineState::Warm]
                .into_iter()
                .filter_map(|state| Some((state, at_paper(rows, engine, state, number)?)))
                .map(|(state, row)| format!("{} {}", state.word(), ours(row)))
                .collect();
            let anew = at_paper(rows, ANEW, EngineState::Cold, number).filter(|_| engine == "att");
            let because = match (pdp.ours, anew) {
                (None, _) => "durward in the place of Luas".to_owned(),
                (Some(_), Some(row)) => {
                    format!("the same product, policies read once. Read for every request: {}", ours(row))
                }
                (Some(_), None) => "the same product, policies read once".to_owned(),
            };
            let what = format!("{}, {} requests", pdp.name, whole(as_f64(*sent)));
            numbers.push(PaperNumber::new(
                place,
                &what,
                &paper(pdp, number).unwrap_or_default(),
                &both.join("; "),
                &because,
            ));
        }
    }
    numbers
}

fn claims(facts: &StudyFacts, rows: &[EngineRow<'_>]) -> Vec<PaperNumber> {
    let mut numbers = Vec::new();
    let engine = |name: &str| facts.engines.iter().find(|engine| engine.name == name);
    let part = |engine: &EngineFacts, number: usize| {
        engine.shipped.get(number).map(|part| format!("{} ({})", bytes(as_f64(part.bytes)), part.what))
    };
    for pdp in &PDPS {
        let ours = engine(pdp.ours.unwrap_or(OURS));
        let name = |what: &str| format!("{}, {what}", pdp.name);
        let own = ours.and_then(|engine| part(engine, 0)).unwrap_or_default();
        let whole: Vec<String> = ours
            .iter()
            .flat_map(|engine| (1..engine.shipped.len()).filter_map(|number| part(engine, number)))
            .collect();
        let whole = if whole.is_empty() { own.clone() } else { whole.join(" + ") };
        let because = if pdp.ours.is_some() {
            "no image is made here: what one would hold beside the system"
        } else {
            "durward in the place of Luas: one program, which needs no runtime"
        };
        numbers.push(PaperNumber::new(
            "text",
            &name("image of its container"),
            &format!("{} MB", pdp.image_mb),
            &whole,
            because,
        ));
        numbers.push(PaperNumber::new(
            "text",
            &name("what is shipped"),
            &format!("{} kB", pdp.bundle_kb),
            &own,
            because,
        ));
    }
    let memory =
        |name: &str| at_paper(rows, name, EngineState::Cold, GREATEST).and_then(EngineRow::memory_mib);
    for (name, less) in LESS_MEMORY {
        let theirs = PDPS.iter().find(|pdp| pdp.name == name).and_then(|pdp| pdp.ours).and_then(memory);
        let ours = theirs.zip(memory(OURS)).map(|(theirs, ours)| {
            let share = percent(1.0 - ours / theirs);
            format!("durward {share} less: {} MiB and {} MiB at the peak", short(ours), short(theirs))
        });
        let what = format!("memory of Luas at 2,000 requests, against {name}");
        let paper = format!("about {} less", percent(less));
        let because = "durward in the place of Luas, cold; the peak of its control group";
        numbers.push(PaperNumber::new("figure 2", &what, &paper, &ours.unwrap_or_default(), because));
    }
    for (name, ended) in ENDED {
        let ours = PDPS.iter().find(|pdp| pdp.name == name).map_or(OURS, |pdp| pdp.ours.unwrap_or(OURS));
        let row = at_paper(rows, ours, EngineState::Cold, GREATEST);
        let ours = row.and_then(|row| Some(format!("{} s", row.ended_s()?))).unwrap_or_default();
        let anew = at_paper(rows, ANEW, EngineState::Cold, GREATEST).filter(|_| name == "AT&T");
        let anew = anew
            .and_then(EngineRow::ended_s)
            .map(|end| format!("; read for every request: {end} s"))
            .unwrap_or_default();
        let because = format!("from the first request to the last answer, cold, policies read once{anew}");
        numbers.push(PaperNumber::new(
            "figures 2 and 3",
            &format!("{name}, end of the run of 2,000"),
            ended,
            &ours,
            &because,
        ));
    }
    numbers
}

/// All that was measured.
fn measured(document: &mut Document, rows: &[EngineRow<'_>]) {
    document.heading("Reliability and latency");
    if let Some(scene) = pictures::latency(rows) {
        document.figure(
            "study-luas-latency",
            scene,
            "The 99th percentile by load; both axes hold equal ratios. Broken lines are the paper's. Engines that decide wrongly are not drawn, \
             and loads at which an engine left requests without an answer are hollow.",
        );
    }
    let row = |row: &EngineRow<'_>| {
        let ms = |spread: Option<super::figures::MeasurementSpread>| {
            spread.map_or_else(|| "–".to_owned(), |spread| spread.text())
        };
        let failures: Vec<String> =
            row.failures().iter().map(|(cause, count)| format!("{cause}: {count}")).collect();
        let mut title = row.engine.title.clone();
        if row.engine.wrong > 0 {
            title.push_str(" (WRONG)");
        }
        vec![
            title,
            row.state.word().to_owned(),
            whole(as_f64(row.sent)),
            percent(row.reliability()),
            ms(row.spread(|all| all.p50_ms)),
            ms(row.spread(|all| all.p95_ms)),
            ms(row.spread(|all| all.p99_ms)),
            ms(row.spread(|all| all.max_ms)),
            row.ended_s().map_or_else(|| "–".to_owned(), |end| format!("{end}")),
            if failures.is_empty() { "none".to_owned() } else { failures.join(", ") },
        ]
    };
    document.table(
        "All loads. Times in ms since requests were due; of several measurements the median, with the least and the greatest.",
        &["engine", "state", "requests", "answered", "p50", "p95", "p99", "longest", "last answer after s", "without answer"],
        2,
        rows.iter().map(row).collect(),
    );
}

fn used(document: &mut Document, rows: &[EngineRow<'_>]) {
    document.heading("Memory and processor");
    for (name, scene, caption) in pictures::resources(rows) {
        document.figure(name, scene, caption);
    }
    let row = |row: &EngineRow<'_>| {
        let share = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), percent);
        vec![
            row.engine.title.clone(),
            row.state.word().to_owned(),
            whole(as_f64(row.sent)),
            row.memory_mib().map_or_else(|| "–".to_owned(), short),
            row.cpu_us().map_or_else(|| "–".to_owned(), |spread| spread.text()),
            share(row.throttled()),
        ]
    };
    document.table(
        "What each load cost: the peak of memory in MiB, processor time a right answer in microseconds, and in how many of its periods the \
         quota of one core held the server back. Whatever a fresh virtual machine compiles meanwhile is in it.",
        &["engine", "state", "requests", "memory", "processor us/answer", "held back"],
        2,
        rows.iter().map(row).collect(),
    );
    let greatest =
        rows.iter().filter(|row| row.state == EngineState::Cold).map(|row| row.sent).max().unwrap_or(0);
    let course = rows.iter().filter(|row| row.state == EngineState::Cold && row.sent == greatest);
    let table: Vec<Vec<String>> = course
        .flat_map(|row| {
            row.course_every(SAMPLED_S).into_iter().map(move |(at, memory, processor)| {
                vec![row.engine.title.clone(), format!("{at:.0}"), short(memory), short(processor)]
            })
        })
        .collect();
    document.table(
        &format!("Every two seconds, as the paper looked, with {} requests, cold; in percent of 512 MB and of one core.", whole(as_f64(greatest))),
        &["engine", "s", "memory %", "processor %"],
        1,
        table,
    );
}

fn decisions(document: &mut Document, facts: &StudyFacts) {
    document.heading("Decisions, starts and sizes");
    let row = |engine: &EngineFacts| {
        let shipped: Vec<String> = engine
            .shipped
            .iter()
            .map(|part| format!("{} {}", part.what, bytes(as_f64(part.bytes))))
            .collect();
        let decided = match engine {
            EngineFacts { missing: Some(_), .. } => "not measured".to_owned(),
            EngineFacts { wrong: 0, .. } => "all right".to_owned(),
            EngineFacts { wrong, .. } => format!("{wrong} WRONG"),
        };
        vec![
            engine.title.clone(),
            decided,
            whole(as_f64(engine.asked as u64)),
            format!("{:.0} ms", engine.ready_ms),
            if shipped.is_empty() { "not known".to_owned() } else { shipped.join(", ") },
        ]
    };
    document.table(
        &format!(
            "Before anything was measured, each engine decided the questions, of {} of which ({}) it is known what is right: recorded, or what \
             most engines say. Its start is from the command to the first answer, in its limits, policies read.",
            whole(as_f64(facts.questions as u64)),
            whole(as_f64(facts.known as u64))
        ),
        &["engine", "decisions", "asked", "start", "what must be brought to a machine"],
        2,
        facts.engines.iter().map(row).collect(),
    );
}

fn why(document: &mut Document, rows: &[EngineRow<'_>]) {
    document.heading("What differs, and why");
    let mut list = Vec::new();
    let att: Vec<&EngineRow<'_>> = rows.iter().filter(|row| row.engine.name == "att").collect();
    if !att.is_empty() && att.iter().all(|row| row.answered() == row.due()) {
        list.push(
            "The paper's AT&T left up to half of its requests without an answer within minutes. The engine itself is not that slow: with \
             its policies read once it answers every load here. 99 of 100 answers to 500 requests within 81 s are 160 ms for each, which is \
             time to read 400 kB of policies; so the paper's server may have read them for every request."
                .to_owned(),
        );
    }
    if let Some(row) = rows.iter().filter(|row| row.engine.name == ANEW).max_by_key(|row| row.sent) {
        let p95 = row
            .spread(|all| all.p95_ms)
            .map_or_else(|| "–".to_owned(), |spread| format!("{} s", short(spread.median / 1e3)));
        list.push(format!(
            "That was tried: AT&T's engine, made to read its policies for every request, answered {} of {} requests in time, with a 95th percentile of {p95}.",
            row.answered(),
            row.due()
        ));
    }
    list.extend(
        [
            "The paper says that runs of 2,000 requests ended after about 180 s for Luas and Balana, though it sends for 5 s and its 99th \
             percentiles are below 0.3 s. Here a run ends with its last answer; we cannot explain the paper's figure.",
            "The paper does not say whether a user waits for an answer before the next request of the same second. Here no \
             user waits: each request is sent when it is due, so a burst of 400 is 400 requests at once.",
            "Figures 2 and 3 of the paper are pictures of a dashboard. Only the sentences about them can be compared.",
            "The paper used a translation of CONTINUE to XACML 3.0 that is not public. Ours is another one, if \
             CONTINUE was given (`--policies`).",
            "The virtual machine, the engines and the processor are newer here. Cold figures of engines in Java mostly measure \
             Java's interpreter and compiler, on the one core that also answers; warm figures show the engine.",
            "The paper has no warm figures, one measurement of each load, and no spread.",
        ]
        .map(str::to_owned),
    );
    document.blocks.push(Block::List(list));
}

fn again(document: &mut Document) {
    document.heading("Running it again");
    document.blocks.push(Block::Code(
        "durward lab study luas                                  # some ten minutes; a stand-in for CONTINUE\n\
         durward lab study luas --full --policies continue/      # CONTINUE: one policy file, requests*.jsonl, decisions.jsonl\n\
         durward lab study luas --engine 'mine=./pdp --port {port} --policies {policies}'"
            .to_owned(),
    ));
    document.text(
        "The engines in Java need `java` and `mvn`; the command builds them once, into the user's cache. If one is missing, \
         the report says so, and durward is measured anyway. Limits need a writable control group; without one, the report \
         says which limits are not in force.",
    );
}

#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53, no disk has 2^53 bytes")]
fn as_f64(count: u64) -> f64 {
    count as f64
}
