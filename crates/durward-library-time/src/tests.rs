use super::FUNCTIONS;
use durward_functions::check::{CallExample, TestedLibrary, array, decimal, values};
use durward_ir::Value;

const LIBRARY: TestedLibrary = TestedLibrary(FUNCTIONS);

const NOW: &str = "2021-11-08T13:45:30.123Z";

fn results() -> Vec<CallExample<'static>> {
    vec![
        ("time.after", values!["2021-11-08T13:00:01Z", "2021-11-08T13:00:00Z"], Ok("true")),
        ("time.after", values!["2021-11-08T13:00:00Z", "2021-11-08T13:00:00Z"], Ok("false")),
        ("time.before", values!["2021-11-08T14:00:00+05:00", "2021-11-08T13:00:00Z"], Ok("true")),
        ("time.before", values!["2021-01-01", "2021-01-01T00:00:00.000000001Z"], Ok("true")),
        ("time.between", values![NOW, "2021-11-07", "2021-11-09"], Ok("true")),
        ("time.between", values![NOW, NOW, "2021-11-01"], Ok("true")),
        ("time.between", values![NOW, "2021-11-09", "2021-11-07"], Ok("false")),
        ("time.ageInYears", values!["1990-05-15", "2021-11-08"], Ok("31")),
        ("time.ageInYears", values!["1990-05-15", "2021-05-14"], Ok("30")),
        ("time.ageInYears", values!["2021-05-14", "1990-05-15"], Ok("-30")),
        ("time.ageInMonths", values!["1990-05-15", "1990-08-20"], Ok("3")),
        ("time.ageInMonths", values!["2020-01-31", "2020-02-29"], Ok("0")),
        ("time.timeBetween", values!["2001-01-01", "2002-01-01", "YEARS"], Ok("1")),
        ("time.timeBetween", values![NOW, "2021-11-09", " hours "], Ok("10")),
        ("time.timeBetween", values!["2021-11-09", NOW, "DAYS"], Ok("0")),
        ("time.timeBetween", values!["2021-11-08", "2021-11-01", "WEEKS"], Ok("-1")),
        ("time.timeBetween", values!["0001-01-01", "-0001-01-01", "ERAS"], Ok("-1")),
        ("time.plusDays", values!["2021-11-08T13:00:00Z", 5], Ok(r#""2021-11-13T13:00:00Z""#)),
        ("time.plusDays", values!["9999-12-31", 1], Ok(r#""+10000-01-01T00:00:00Z""#)),
        ("time.plusDays", values!["2021-11-08", decimal("2.0")], Ok(r#""2021-11-10T00:00:00Z""#)),
        ("time.durationOfHours", values![decimal("0.5")], Ok("1800000")),
        ("time.durationOfSeconds", values![decimal("-0.001")], Ok("-1")),
        (
            "time.dateTimeAtZone",
            values!["2002-09-04T09:02:47", "SystemV/EST5"],
            Ok(r#""2002-09-04T14:02:47Z""#),
        ),
        (
            "time.toZone",
            values!["2002-09-04T14:02:47Z", "SystemV/EST5EDT"],
            Ok(r#""2002-09-04T10:02:47-04:00""#),
        ),
        (
            "time.toZone",
            values!["1974-02-01T12:00:00Z", "SystemV/PST8PDT"],
            Ok(r#""1974-02-01T05:00:00-07:00""#),
        ),
        (
            "time.toZone",
            values!["1899-07-01T12:00:00Z", "SystemV/PST8PDT"],
            Ok(r#""1899-07-01T04:00:00-08:00""#),
        ),
        (
            "time.toZone",
            values!["2024-04-28T07:00:00Z", "SystemV/EST5EDT"],
            Ok(r#""2024-04-28T03:00:00-04:00""#),
        ),
        (
            "time.toZone",
            values!["2024-10-27T06:00:00Z", "SystemV/EST5EDT"],
            Ok(r#""2024-10-27T01:00:00-05:00""#),
        ),
        ("time.minusDays", values!["0000-01-01", 1], Ok(r#""-0001-12-31T00:00:00Z""#)),
        ("time.plusMonths", values!["2021-01-31T13:00:00Z", 1], Ok(r#""2021-02-28T13:00:00Z""#)),
        ("time.minusMonths", values!["2021-03-31T13:00:00Z", 1], Ok(r#""2021-02-28T13:00:00Z""#)),
        ("time.plusYears", values!["2020-02-29T13:00:00Z", 1], Ok(r#""2021-02-28T13:00:00Z""#)),
        ("time.minusYears", values!["2021-11-08T13:00:00Z", 3], Ok(r#""2018-11-08T13:00:00Z""#)),
        ("time.plusNanos", values!["2021-11-08T13:00:00Z", 1], Ok(r#""2021-11-08T13:00:00.000000001Z""#)),
        ("time.minusNanos", values!["2021-11-08T13:00:00Z", 1000], Ok(r#""2021-11-08T12:59:59.999999Z""#)),
        ("time.plusMillis", values!["2021-11-08T13:00:00Z", 10_000], Ok(r#""2021-11-08T13:00:10Z""#)),
        ("time.minusMillis", values!["2021-11-08T13:00:00Z", 1], Ok(r#""2021-11-08T12:59:59.999Z""#)),
        ("time.plusSeconds", values![NOW, 1], Ok(r#""2021-11-08T13:45:31.123Z""#)),
        ("time.minusSeconds", values![NOW, 31], Ok(r#""2021-11-08T13:44:59.123Z""#)),
        ("time.epochSecond", values!["2021-11-08T13:00:00Z"], Ok("1636376400")),
        ("time.epochSecond", values!["1969-12-31T23:59:59.5Z"], Ok("-1")),
        ("time.epochMilli", values!["1969-12-31T23:59:59.5Z"], Ok("-500")),
        ("time.ofEpochSecond", values![-1], Ok(r#""1969-12-31T23:59:59Z""#)),
        ("time.ofEpochMilli", values![1_636_376_400_500], Ok(r#""2021-11-08T13:00:00.500Z""#)),
        ("time.weekOfYear", values!["2021-01-01T00:00:00Z"], Ok("53")),
        ("time.weekOfYear", values!["2026-01-01T00:00:00"], Ok("1")),
        ("time.weekOfYear", values!["2021-11-08T13:00:00Z"], Ok("45")),
        ("time.dayOfYear", values!["2020-12-31T00:00:00+05:00"], Ok("366")),
        ("time.dayOfWeek", values!["2021-11-08T13:00:00Z"], Ok(r#""MONDAY""#)),
        ("time.dayOfWeek", values!["1900-01-07T13:00"], Ok(r#""SUNDAY""#)),
        ("time.validUTC", values!["2021-11-08"], Ok("true")),
        ("time.validUTC", values!["20111-000:00Z"], Ok("false")),
        ("time.validUTC", values![Value::Undefined], Ok("false")),
        ("time.validRFC3339", values!["2021-11-08T13:00:00+05:00"], Ok("true")),
        ("time.validRFC3339", values!["2021-11-08T13:00:00"], Ok("false")),
        ("time.validRFC3339", values!["2021-11-08t13:00:00z"], Ok("false")),
        ("time.validRFC3339", values!["2021-11-08T13:00:00+05:00:30"], Ok("false")),
        ("time.validRFC3339", values![array![]], Ok("false")),
        ("time.startOfDay", values![NOW], Ok(r#""2021-11-08T00:00:00Z""#)),
        ("time.endOfDay", values![NOW], Ok(r#""2021-11-08T23:59:59.999999999Z""#)),
        ("time.startOfWeek", values!["2021-11-14T23:59:59Z"], Ok(r#""2021-11-08T00:00:00Z""#)),
        ("time.endOfWeek", values![NOW], Ok(r#""2021-11-14T23:59:59.999999999Z""#)),
        ("time.startOfMonth", values![NOW], Ok(r#""2021-11-01T00:00:00Z""#)),
        ("time.endOfMonth", values!["2020-02-15"], Ok(r#""2020-02-29T23:59:59.999999999Z""#)),
        ("time.startOfYear", values![NOW], Ok(r#""2021-01-01T00:00:00Z""#)),
        ("time.endOfYear", values![NOW], Ok(r#""2021-12-31T23:59:59.999999999Z""#)),
        ("time.truncateToHour", values!["1969-12-31T23:59:59.5Z"], Ok(r#""1969-12-31T23:00:00Z""#)),
        ("time.truncateToDay", values![NOW], Ok(r#""2021-11-08T00:00:00Z""#)),
        ("time.truncateToWeek", values!["2021-11-10"], Ok(r#""2021-11-08T00:00:00Z""#)),
        ("time.truncateToMonth", values![NOW], Ok(r#""2021-11-01T00:00:00Z""#)),
        ("time.truncateToYear", values![NOW], Ok(r#""2021-01-01T00:00:00Z""#)),
        ("time.localIso", values!["2021-11-08T13:00"], Ok(r#""2021-11-08T13:00:00Z""#)),
        ("time.localDin", values!["31.02.2021 24:00:00"], Ok(r#""2021-03-01T00:00:00Z""#)),
        ("time.dateTimeAtOffset", values!["2021-11-08T13:12:35", "+05:00"], Ok(r#""2021-11-08T08:12:35Z""#)),
        ("time.dateTimeAtOffset", values!["2021-11-08T13:12:35", "-1"], Ok(r#""2021-11-08T14:12:35Z""#)),
        (
            "time.dateTimeAtZone",
            values!["2021-11-08T13:12:35", "Europe/Berlin"],
            Ok(r#""2021-11-08T12:12:35Z""#),
        ),
        // Clocks skip this hour, and show the other one twice.
        (
            "time.dateTimeAtZone",
            values!["2021-03-28T02:30:00", "Europe/Berlin"],
            Ok(r#""2021-03-28T01:30:00Z""#),
        ),
        (
            "time.dateTimeAtZone",
            values!["2021-10-31T02:30:00", "Europe/Berlin"],
            Ok(r#""2021-10-31T00:30:00Z""#),
        ),
        ("time.dateTimeAtZone", values!["2021-11-08T13:12:35", " "], Ok(r#""2021-11-08T13:12:35Z""#)),
        ("time.dateTimeAtZone", values!["2021-11-08T13:12:35", "EST"], Ok(r#""2021-11-08T18:12:35Z""#)),
        ("time.dateTimeAtZone", values!["2021-11-08T13:12:35", "UTC-05"], Ok(r#""2021-11-08T18:12:35Z""#)),
        ("time.offsetDateTime", values!["2021-11-08T13:12:35+05:00"], Ok(r#""2021-11-08T08:12:35Z""#)),
        ("time.offsetTime", values!["13:12:35-05:00"], Ok(r#""18:12:35""#)),
        ("time.offsetTime", values!["01:00+02:00"], Ok(r#""23:00""#)),
        ("time.timeAtOffset", values!["13:12:35.5", "-05:00"], Ok(r#""18:12:35.500""#)),
        ("time.timeInZone", values!["13:12:35", "2022-01-14", "US/Pacific"], Ok(r#""21:12:35""#)),
        ("time.timeAMPM", values!["08:12:35 PM"], Ok(r#""20:12:35""#)),
        ("time.timeAMPM", values!["12:00:00 am"], Ok(r#""00:00""#)),
        ("time.dateOf", values!["2021-11-08T23:00:00-05:00"], Ok(r#""2021-11-08""#)),
        ("time.timeOf", values!["2021-11-08T13:00:00.999999999Z"], Ok(r#""13:00:00""#)),
        ("time.timeOf", values!["2021-11-08T13:00:00+01:00[Europe/Berlin]"], Ok(r#""13:00:00""#)),
        ("time.hourOf", values![NOW], Ok("13")),
        ("time.minuteOf", values![NOW], Ok("45")),
        ("time.secondOf", values![NOW], Ok("30")),
        ("time.durationFromISO", values!["P1DT2H30M"], Ok("95400000")),
        ("time.durationFromISO", values!["P1Y"], Ok("31556951999")),
        ("time.durationFromISO", values!["-P1M3D"], Ok("-2888946000")),
        ("time.durationFromISO", values!["-PT0.1234S"], Ok("-123")),
        ("time.durationOfSeconds", values![decimal("20.5")], Ok("20500")),
        ("time.durationOfMinutes", values![1], Ok("60000")),
        ("time.durationOfHours", values![-24], Ok("-86400000")),
        ("time.durationOfDays", values![365], Ok("31536000000")),
        ("time.durationToISOCompact", values![93_600_000], Ok(r#""PT26H""#)),
        ("time.durationToISOCompact", values![-1500], Ok(r#""PT-1.5S""#)),
        ("time.durationToISOCompact", values![0], Ok(r#""PT0S""#)),
        ("time.durationToISOVerbose", values![31_556_951_999], Ok(r#""P1Y""#)),
        ("time.durationToISOVerbose", values![90_061_999], Ok(r#""P1DT1H1M1S""#)),
        ("time.durationToISOVerbose", values![-5], Ok(r#""PT0S""#)),
        (
            "time.toZone",
            values!["2021-11-08T13:00:00Z", "Europe/Berlin"],
            Ok(r#""2021-11-08T14:00:00+01:00""#),
        ),
        (
            "time.toZone",
            values!["+12021-07-08T13:00:00.5Z", "US/Pacific"],
            Ok(r#""+12021-07-08T06:00:00.5-07:00""#),
        ),
        ("time.toZone", values!["1850-01-01", "Europe/Berlin"], Ok(r#""1850-01-01T00:53:28+00:53:28""#)),
        ("time.toOffset", values!["2021-11-08T13:00:00Z", "+0530"], Ok(r#""2021-11-08T18:30:00+05:30""#)),
        ("time.toOffset", values!["2021-11-08T13:00:00Z", "+00:00"], Ok(r#""2021-11-08T13:00:00Z""#)),
    ]
}

#[test]
fn functions_of_time_compute_what_java_computes() {
    let results = results();
    LIBRARY.rows(&results);
    LIBRARY.all_called(&results);
}

#[test]
fn faults_name_what_was_given() {
    let far = "+1000000000-12-31T23:59:59Z";
    LIBRARY.rows(&[
        (
            "time.before",
            values!["x", NOW],
            Err(r#"Invalid timestamp(s) in comparison: "x", "2021-11-08T13:45:30.123Z"."#),
        ),
        (
            "time.between",
            values!["a", "b", "c"],
            Err(r#"Invalid timestamp(s) in range check: "a" in ["b", "c"]."#),
        ),
        (
            "time.timeBetween",
            values![NOW, NOW, "FOREVER"],
            Err(
                r#"Invalid timestamps or chrono unit: "2021-11-08T13:45:30.123Z", "2021-11-08T13:45:30.123Z", "FOREVER"."#,
            ),
        ),
        (
            "time.timeBetween",
            values!["-999999999-01-01", "2021-01-01", "NANOS"],
            Err(r#"Invalid timestamps or chrono unit: "-999999999-01-01", "2021-01-01", "NANOS"."#),
        ),
        ("time.ageInYears", values!["", NOW], Err(r#"Invalid date(s): "", "2021-11-08T13:45:30.123Z"."#)),
        (
            "time.plusSeconds",
            values![far, decimal("1E+3")],
            Err(r#"Temporal arithmetic failed for "+1000000000-12-31T23:59:59Z" with amount 1E+3."#),
        ),
        (
            "time.plusMonths",
            values!["2021-01-01", i64::MAX],
            Err(r#"Temporal arithmetic failed for "2021-01-01" with amount 9223372036854775807."#),
        ),
        (
            "time.minusYears",
            values!["2021-01-01", i64::MIN],
            Err(r#"Temporal arithmetic failed for "2021-01-01" with amount -9223372036854775808."#),
        ),
        ("time.epochMilli", values!["   "], Err(r#"Invalid timestamp: "   "."#)),
        ("time.startOfDay", values![far], Err(r#"Invalid timestamp: "+1000000000-12-31T23:59:59Z"."#)),
        ("time.weekOfYear", values!["2021-01-01"], Err(r#"Invalid ISO datetime: "2021-01-01"."#)),
        (
            "time.offsetDateTime",
            values!["2021-11-08T13:12:35"],
            Err(r#"Invalid ISO datetime: "2021-11-08T13:12:35"."#),
        ),
        ("time.localIso", values!["2021-11-08"], Err(r#"Invalid local datetime: "2021-11-08"."#)),
        (
            "time.localDin",
            values!["8.11.2021 13:00:00"],
            Err(r#"Invalid DIN datetime (expected dd.MM.yyyy HH:mm:ss): "8.11.2021 13:00:00"."#),
        ),
        (
            "time.dateTimeAtOffset",
            values!["2021-11-08T13:12:35", "x"],
            Err(r#"Invalid offset "x" for datetime "2021-11-08T13:12:35"."#),
        ),
        (
            "time.dateTimeAtZone",
            values!["2021-11-08T13:12:35", "europe/berlin"],
            Err(r#"Invalid timezone "europe/berlin" for datetime "2021-11-08T13:12:35"."#),
        ),
        ("time.offsetTime", values!["13:12:35"], Err(r#"Invalid time: "13:12:35"."#)),
        ("time.timeAtOffset", values!["25:00", "Z"], Err(r#"Invalid offset "Z" for time "25:00"."#)),
        (
            "time.timeInZone",
            values!["13:00", "2021-02-30", "UTC"],
            Err(r#"Invalid timezone "UTC" for time "13:00" on date "2021-02-30"."#),
        ),
        (
            "time.timeAMPM",
            values!["13:00:00 PM"],
            Err(r#"Invalid AM/PM time (expected hh:mm:ss AM/PM): "13:00:00 PM"."#),
        ),
        ("time.durationFromISO", values![" "], Err("ISO duration parameter cannot be blank.")),
        // A year and a time in one duration is more than the engine reads, whatever its documentation says.
        ("time.durationFromISO", values!["P1Y2M3DT4H"], Err(r#"Invalid ISO duration: "P1Y2M3DT4H"."#)),
        (
            "time.durationOfDays",
            values![i64::MAX],
            Err("Duration calculation overflowed for amount: 9223372036854775807."),
        ),
        (
            "time.toZone",
            values![NOW, "Foo"],
            Err(r#"Invalid timezone "Foo" for datetime "2021-11-08T13:45:30.123Z"."#),
        ),
        ("time.toOffset", values!["x", "Z"], Err(r#"Invalid offset "Z" for datetime "x"."#)),
    ]);
    LIBRARY.faults(&[
        ("time.plusDays", values![1, 1], "argument 1 of `time.plusDays` must be a text"),
        ("time.plusDays", values![NOW, "1"], "argument 2 of `time.plusDays` must be a number"),
    ]);
}

/// What Java's formatters take that other readers of ISO 8601 do not, and the other way round.
#[test]
fn timestamps_are_read_with_the_liberties_of_java() {
    let read = |text: &str| super::Instant::read(text).map(|instant| instant.to_string());
    for (text, wanted) in [
        ("2021-11-08t13:00:00z", Some("2021-11-08T13:00:00Z")),
        ("2021-11-08T24:00:00Z", Some("2021-11-09T00:00:00Z")),
        ("2016-12-31T23:59:60Z", Some("2016-12-31T23:59:59Z")),
        ("2021-11-08T13:00:00.Z", Some("2021-11-08T13:00:00Z")),
        ("2021-11-08T13:00:00+18:00", Some("2021-11-07T19:00:00Z")),
        ("+12021-01-01", Some("+12021-01-01T00:00:00Z")),
        ("-0001-01-01", Some("-0001-01-01T00:00:00Z")),
        ("12021-01-01", None),
        ("+2021-01-01", None),
        ("-0000-01-01", None),
        ("2021-11-08T13:00Z", None),
        ("2021-11-08T13:00:00", None),
        ("2021-11-08T13:00:00+18:01", None),
        ("2021-11-08T13:00:00+05", None),
        ("2021-11-08T13:00:00.1234567890Z", None),
        ("2021-02-29T00:00:00Z", None),
        ("2021-1-1", None),
        (" 2021-01-01", None),
        ("２０２１-01-01", None),
    ] {
        assert_eq!(read(text).as_deref(), wanted, "{text}");
    }
}

#[test]
fn the_ends_of_time_are_reached_without_harm() {
    let ends = ["+1000000000-12-31T23:59:59.999999999Z", "-1000000000-01-01T00:00:00Z"];
    for function in FUNCTIONS {
        for end in ends {
            for amount in [i64::MIN, -1, 0, 1, i64::MAX] {
                let arguments: Vec<_> = function
                    .parameters
                    .iter()
                    .map(|parameter| match parameter {
                        durward_ir::library::Parameter::Number => values![amount].remove(0),
                        _ => values![end].remove(0),
                    })
                    .collect();
                let _ = function.call(&arguments);
            }
        }
    }
}
