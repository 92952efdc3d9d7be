//! The page, its pictures, the PDF and the data.

use std::path::PathBuf;
use std::sync::LazyLock;

use durward_lab::draw;
use durward_lab::record::{MeasuredPoint, PointLoad, RunRecord};
use durward_lab::report::{self, Block, Document, Links, Options};

use super::fixtures;

/// What one record makes.
struct Made {
    name: &'static str,
    record: RunRecord,
    document: Document,
}

/// The reports of all fixtures, made once: fitting takes a while without optimization.
fn all() -> &'static [Made] {
    static ALL: LazyLock<Vec<Made>> = LazyLock::new(|| {
        let records = [
            ("users", fixtures::by_users(1)),
            ("nodes", fixtures::by_nodes(2)),
            ("open", fixtures::open(3)),
            ("hostile", fixtures::hostile()),
            ("long", fixtures::long(1_000)),
            ("one", fixtures::long(1)),
            ("silent", fixtures::silent()),
            ("empty", fixtures::empty()),
        ];
        let made = |(name, record): (&'static str, RunRecord)| {
            let document = report::document(std::slice::from_ref(&record));
            Made { name, record, document }
        };
        records.into_iter().map(made).collect()
    });
    &ALL
}

fn made(name: &str) -> &'static Made {
    all().iter().find(|made| made.name == name).unwrap()
}

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("durward-lab-report-{name}-{}", std::process::id()))
}

/// Whether a text is well-formed XML.
fn parses(xml: &str) -> Result<(), String> {
    let mut reader = quick_xml::Reader::from_str(xml);
    loop {
        match reader.read_event() {
            Ok(quick_xml::events::Event::Eof) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[test]
fn every_picture_is_xml_with_a_title_and_a_description() {
    for Made { name, document, .. } in all() {
        for figure in document.figures() {
            let svg = draw::svg_file(&figure.scene);
            parses(&svg).unwrap_or_else(|error| panic!("{name} {}: {error}", figure.name));
            assert!(
                svg.contains("<title>") && svg.contains("<desc>") && svg.contains("role=\"img\""),
                "{name}"
            );
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name} {}", figure.name);
        }
        assert!(*name == "empty" || document.figures().count() >= 3, "{name}");
    }
}

/// The page without the records that it holds, which browsers neither run nor show, and these.
fn split(page: &str) -> (String, Vec<&str>) {
    let mut parts = page.split("<script type=\"application/json\" class=\"durward-record\">");
    let mut shown = parts.next().unwrap().to_owned();
    let mut records = Vec::new();
    for part in parts {
        let (record, rest) = part.split_once("</script>").unwrap();
        records.push(record);
        shown.push_str(rest);
    }
    (shown, records)
}

#[test]
fn a_page_stands_alone() {
    for Made { name, document, .. } in all() {
        let page = report::html(document, Links::Nothing);
        let (shown, records) = split(&page);
        assert!(records.len() == 1 && !records[0].contains('<'), "{name}");
        for outside in ["<script", "<link", "<img", "@import", "url(", "src=", "href=", "javascript:"] {
            assert!(!shown.contains(outside), "{name}: {outside}");
        }
        let is_plain = |it: char| !it.is_control() || it == '\n' || it == '\t';
        assert!(shown.chars().all(is_plain), "{name}: control characters");
        assert!(!shown.contains('\u{202e}'), "{name}: turns the direction of writing");
    }
}

#[test]
fn names_cannot_leave_their_place() {
    let page = report::html(&made("hostile").document, Links::Nothing);
    let (page, _) = split(&page);
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("]]>"));
    // Cells are shortened; the scenario is shown as it is.
    let cells = page.split("<td").skip(1).filter_map(|cell| cell.split("</td>").next());
    cells.for_each(|cell| assert!(cell.len() < 1_500, "{} bytes", cell.len()));
}

#[test]
fn every_point_is_drawn() {
    for name in ["users", "nodes", "long"] {
        let Made { record, document, .. } = made(name);
        let throughput = document.figures().find(|figure| figure.name == "throughput").unwrap();
        // Marks of points have a title; those of the legend have none.
        let svg = draw::svg(&throughput.scene);
        assert_eq!(svg.matches("<title>").count() - 1, record.points.len(), "{name}");
        let hollow = record.points.iter().filter(|point| !point.is_fitted()).count();
        let drawn =
            svg.lines().filter(|line| line.contains("class=\"m fp") && line.contains("<title>")).count();
        assert_eq!(drawn, hollow, "{name}");
    }
}

#[test]
fn tables_hold_the_numbers_of_the_record() {
    let Made { record, document, .. } = made("users");
    let table = |begin: &str| {
        document
            .blocks
            .iter()
            .find_map(|block| match block {
                Block::Table(table) if table.caption.starts_with(begin) => Some(table.clone()),
                _ => None,
            })
            .unwrap_or_else(|| panic!("no table {begin}"))
    };
    // Measured in an order by chance, listed by load.
    let mut listed: Vec<&MeasuredPoint> = record.points.iter().collect();
    listed.sort_by_key(|point| match point.load {
        PointLoad::Users(users) => (users, point.replicate),
        PointLoad::Arrivals(rate) => panic!("{rate}: these are users"),
    });
    let points = table("Points");
    assert_eq!(points.rows.len(), record.points.len());
    for (row, point) in points.rows.iter().zip(&listed) {
        assert_eq!(
            (&row[2], &row[3]),
            (&draw::count(point.throughput()), &draw::percent(point.error_share()))
        );
    }
    let times = table("Times by step");
    let steps = listed.iter().flat_map(|point| &point.steps);
    assert_eq!(times.rows.len(), steps.clone().count());
    for (row, step) in times.rows.iter().zip(steps) {
        let at = |percent| draw::time(step.since_due.percentile_ns(percent) as f64);
        assert_eq!(row[4..8], [at(50.0), at(90.0), at(99.0), at(99.9)]);
        assert_eq!(row[10], draw::time(step.since_sent.percentile_ns(99.0) as f64));
    }
    assert!(document.blocks.iter().all(|block| match block {
        Block::Table(table) => table.rows.iter().all(|row| row.len() == table.columns.len()),
        _ => true,
    }));
}

fn set(record: &mut RunRecord, change: fn(&mut durward_lab::record::NodeUse)) {
    let nodes = record.points.iter_mut().flat_map(|point| &mut point.by_node);
    nodes.filter_map(|node| node.used.as_mut()).for_each(change);
}

#[test]
fn the_verdict_names_what_the_machine_shows_and_nothing_else() {
    let said = |record: &RunRecord| {
        let document = report::document(std::slice::from_ref(record));
        let verdict = document.blocks.iter().find_map(|block| match block {
            Block::Verdict(said) => Some(said.join("\n")),
            _ => None,
        });
        verdict.unwrap()
    };
    assert!(said(&fixtures::open(3)).contains("Why: not known"));
    assert!(said(&fixtures::silent()).contains("No request had a right answer"));
    assert_eq!(said(&fixtures::empty()), "Nothing was measured.");
    let mut busy = fixtures::by_users(1);
    set(&mut busy, |used| used.cpu_s = used.cores * 20.0 * 0.41);
    assert!(said(&busy).contains("nothing that was watched was near its limit"), "{}", said(&busy));
    set(&mut busy, |used| used.cpu_s = used.cores * 20.0 * 0.97);
    assert!(
        said(&busy).contains("the processor saturates first") && said(&busy).contains("97 %"),
        "{}",
        said(&busy)
    );
    set(&mut busy, |used| used.throttled_periods = 120);
    assert!(said(&busy).contains("the quota of processor time saturates first"));
    busy.points.iter_mut().for_each(|point| point.generator.busy = 0.95);
    assert!(said(&busy).contains("the generator itself was at its limit"));
}

#[test]
fn a_report_is_a_page_pictures_and_data() {
    let folder = folder("written");
    let record = fixtures::by_users(1);
    let has_pdf = cfg!(feature = "pictures");
    let names = report::write(std::slice::from_ref(&record), &folder, &Options { has_pdf }).unwrap();
    for name in &names {
        assert!(folder.join(name).metadata().unwrap().len() > 0, "{name}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let again = RunRecord::read(&read("record.json")).unwrap();
    assert_eq!((again.about, &again.points[3].steps), (record.about.clone(), &record.points[3].steps));
    assert_eq!(read("points.csv").lines().count(), 1 + record.points.len() * 3);
    let page = read("index.html");
    let linked = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    linked.for_each(|link| assert!(names.iter().any(|name| name == link), "{link}"));
    let log = std::fs::read(folder.join("histograms.hlog")).unwrap();
    let intervals = hdrhistogram::serialization::interval_log::IntervalLogIterator::new(&log);
    assert_eq!(
        intervals
            .map(Result::unwrap)
            .filter(|entry| matches!(entry, hdrhistogram::serialization::interval_log::LogEntry::Interval(_)))
            .count(),
        record.points.len() * 6
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn csv_is_read_back_whatever_things_are_called() {
    let folder = folder("csv");
    let record = fixtures::hostile();
    report::write(std::slice::from_ref(&record), &folder, &Options::default()).unwrap();
    let mut reader = csv::Reader::from_path(folder.join("points.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), record.points.len() * 3);
    assert_eq!(rows[0].get(1).unwrap(), record.points[0].configuration);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let file = folder("file");
    std::fs::write(&file, "").unwrap();
    let error = report::write(&[fixtures::empty()], &file.join("below"), &Options::default()).unwrap_err();
    assert!(error.to_string().starts_with("cannot write `"), "{error}");
    std::fs::remove_file(&file).unwrap();
}

#[cfg(feature = "pictures")]
#[test]
fn every_record_has_a_pdf_with_its_words() {
    for Made { name, document, .. } in all() {
        let folder = folder(&format!("pdf-{name}"));
        report::write_document(document, &folder, &Options { has_pdf: true }).unwrap();
        let document = lopdf::Document::load(folder.join("report.pdf"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let pages = document.get_pages();
        assert!(!pages.is_empty(), "{name}");
        // Each letter has a place of its own, which this reader takes for a line of its own.
        let text: String = document.extract_text(&[1]).unwrap().split_whitespace().collect();
        let words = ["Howfar:atmost", "Norequesthadarightanswer", "Nothingwasmeasured"];
        assert!(words.iter().any(|words| text.contains(words)), "{name}: {text}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// Writes the reports of all fixtures below `DURWARD_REPORTS`, to be looked at.
#[test]
fn reports_can_be_looked_at() {
    let Some(to) = std::env::var_os("DURWARD_REPORTS") else { return };
    for Made { name, record, .. } in all() {
        let out = PathBuf::from(&to).join(name);
        report::write(std::slice::from_ref(record), &out, &Options { has_pdf: true }).unwrap();
        std::fs::write(out.join("record.json"), record.to_json().unwrap()).unwrap();
    }
}
