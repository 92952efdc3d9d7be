//! Decimals against what `java.math.BigDecimal` gives.

use num_bigint::BigInt;

use super::{DECIMAL_LENGTH_MAX, Decimal};

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap_or_else(|reason| panic!("{text}: {reason}"))
}

/// Two numbers; their sum, difference, product and quotient in `MathContext.DECIMAL128`, as Java wrote them.
const FOUR_OPERATIONS: &[[&str; 6]] = &[
    ["1", "3", "4", "-2", "3", "0.3333333333333333333333333333333333"],
    ["2", "3", "5", "-1", "6", "0.6666666666666666666666666666666667"],
    ["10", "4", "14", "6", "40", "2.5"],
    ["2", "3.50", "5.50", "-1.50", "7.00", "0.5714285714285714285714285714285714"],
    ["7.00", "2", "9.00", "5.00", "14.00", "3.50"],
    ["1e3", "2", "1002", "998", "2E+3", "5E+2"],
    ["0", "0.50", "0.50", "-0.50", "0.00", "0E+2"],
    ["0.950", "50", "50.950", "-49.050", "47.500", "0.019"],
    ["9.45E+4", "-9E+3", "8.55E+4", "1.035E+5", "-8.505E+8", "-10.5"],
    [
        "-999009590595.51092997195",
        "94950955992969959.9009995054009953",
        "94949956983379364.3900695334509953",
        "-94951955002560555.4119294773509953",
        "-94856915673189294628113196447.95522",
        "-0.00001052132208831553255922255081972326",
    ],
    [
        "-5590025095392956595500.90",
        "9.585009550350555599340501919553193E+35",
        "9.585009550350499699089547989987238E+35",
        "-9.585009550350611499591455849119148E+35",
        "-5.358044392604076456825553784864364E+57",
        "-5.832049583287593940681685918488911E-15",
    ],
    [
        "509095579506067590579994550070950930595590.01",
        "1.500506001905009000031505E+26",
        "5.090955795060677406305947405718509E+41",
        "5.090955795060674405293943595700509E+41",
        "7.639009725921631169061386732443058E+67",
        "3392826012423350.400859750106561840",
    ],
    [
        "1.07E-26",
        "90000",
        "90000.0000000000000000000000000107",
        "-89999.9999999999999999999999999893",
        "9.630000E-22",
        "1.188888888888888888888888888888889E-31",
    ],
    [
        "-5",
        "9.9E-41",
        "-5.000000000000000000000000000000000",
        "-5.000000000000000000000000000000000",
        "-4.95E-40",
        "-5.050505050505050505050505050505051E+40",
    ],
    [
        "123456789012345678901234567890.123456789",
        "1",
        "123456789012345678901234567891.1235",
        "123456789012345678901234567889.1235",
        "123456789012345678901234567890.1235",
        "123456789012345678901234567890.1235",
    ],
    [
        "9223372036854775807",
        "-1",
        "9223372036854775806",
        "9223372036854775808",
        "-9223372036854775807",
        "-9223372036854775807",
    ],
    [
        "-9223372036854775808",
        "-1",
        "-9223372036854775809",
        "-9223372036854775807",
        "9223372036854775808",
        "9223372036854775808",
    ],
];

#[test]
fn arithmetic_has_the_digits_and_scales_of_java() {
    for [a, b, sum, difference, product, quotient] in FOUR_OPERATIONS {
        let (a, b) = (decimal(a), decimal(b));
        assert_eq!(a.add(&b).unwrap().to_string(), *sum, "{a} + {b}");
        assert_eq!(a.sub(&b).unwrap().to_string(), *difference, "{a} - {b}");
        assert_eq!(a.mul(&b).unwrap().to_string(), *product, "{a} * {b}");
        assert_eq!(a.div(&b).unwrap().to_string(), *quotient, "{a} / {b}");
    }
}

#[test]
fn ties_are_rounded_to_the_even_neighbour() {
    // 34 digits, then exactly a half.
    let half = |digits: &str| decimal(digits).mul(&Decimal::ONE).unwrap().to_string();
    assert_eq!(half("10000000000000000000000000000000005"), "1.000000000000000000000000000000000E+34");
    assert_eq!(half("10000000000000000000000000000000015"), "1.000000000000000000000000000000002E+34");
    assert_eq!(half("100000000000000000000000000000000051"), "1.000000000000000000000000000000001E+35");
    assert_eq!(half("99999999999999999999999999999999995"), "1.000000000000000000000000000000000E+35");
    assert_eq!(half("-10000000000000000000000000000000015"), "-1.000000000000000000000000000000002E+34");
}

#[test]
fn remainders_have_the_sign_rule_of_sapl_and_the_scales_of_java() {
    for [a, b, remainder] in [
        ["7", "3", "1"],
        ["-7", "3", "2"],
        ["7", "-3", "1"],
        ["-7", "-3", "-1"],
        ["7.5", "2", "1.5"],
        ["7", "2.5", "2.0"],
        ["0.950", "50", "0.950"],
        ["-0.95", "50", "49.05"],
        ["9.45E+4", "-9E+3", "4.5E+3"],
        ["5.99E+12", "-550", "5.0E+2"],
        ["5E+1", "-0.99", "0.5"],
        ["-5.00992999955909505955E+21", "-900", "-5.5E+2"],
        ["5.505990159090095E+28", "-9", "8"],
        [
            "509095579506067590579994550070950930595590.01",
            "1.500506001905009000031505E+26",
            "60149246095703811166420590.01",
        ],
    ] {
        assert_eq!(decimal(a).rem(&decimal(b)).unwrap().to_string(), remainder, "{a} % {b}");
    }
    let long = decimal("4.0950500905500000850555555E+49").rem(&decimal("60")).unwrap_err();
    assert_eq!(long.message, "the quotient has too many digits for a remainder");
}

#[test]
fn nothing_is_divided_by_zero() {
    for zero in ["0", "0.00", "0E+7", "-0"] {
        assert_eq!(Decimal::ONE.div(&decimal(zero)).unwrap_err().message, "division by zero");
        assert_eq!(Decimal::ONE.rem(&decimal(zero)).unwrap_err().message, "division by zero");
    }
}

#[test]
fn operands_beyond_the_limits_are_refused_and_results_are_not() {
    let far = decimal("1E+1000");
    assert_eq!(far.add(&decimal("1E-1000")).unwrap().precision(), 34);
    let farther = far.mul(&far).unwrap();
    assert_eq!(farther.to_string(), "1E+2000");
    assert!(farther.add(&Decimal::ONE).is_err());
    assert!(Decimal::ONE.div(&farther).is_err());
    let long = Decimal::from(BigInt::from(10).pow(1000));
    assert!(long.sub(&Decimal::ONE).is_err());
    let just = Decimal::from(BigInt::from(10).pow(999));
    assert_eq!(just.sub(&Decimal::ONE).unwrap().to_string(), "1.000000000000000000000000000000000E+999");
}

#[test]
fn texts_are_those_of_java() {
    for (text, written, plain) in [
        ("0", "0", "0"),
        ("-0", "0", "0"),
        ("-0.0", "0.0", "0.0"),
        ("1.50", "1.50", "1.50"),
        ("1e3", "1E+3", "1000"),
        ("1E-2", "0.01", "0.01"),
        ("0e3", "0E+3", "0"),
        ("0E-7", "0E-7", "0.0000000"),
        ("0E-6", "0.000000", "0.000000"),
        ("1E-6", "0.000001", "0.000001"),
        ("1E-7", "1E-7", "0.0000001"),
        ("12345E-11", "1.2345E-7", "0.00000012345"),
        ("-12.3e+5", "-1.23E+6", "-1230000"),
        ("+5", "5", "5"),
        (".5", "0.5", "0.5"),
        ("5.", "5", "5"),
        ("007", "7", "7"),
        ("1e999", "1E+999", &format!("1{}", "0".repeat(999))),
        ("1e0000000000000000000000001", "1E+1", "10"),
        (
            "123456789012345678901234567890",
            "123456789012345678901234567890",
            "123456789012345678901234567890",
        ),
        ("-0.12345678901234567890123", "-0.12345678901234567890123", "-0.12345678901234567890123"),
    ] {
        assert_eq!(decimal(text).to_string(), written, "{text}");
        assert_eq!(decimal(text).to_plain(), plain, "{text}");
    }
}

#[test]
fn what_is_no_number_or_too_long_is_refused() {
    let not_numbers = [
        "", "-", ".", "e5", "1e", "1e+", "1 ", " 1", "0x1", "1_0", "1,5", "--1", "NaN", "Infinity", "1.2.3",
        "١",
    ];
    for text in not_numbers {
        assert_eq!(Decimal::parse(text), Err(""), "{text}");
    }
    for text in ["1e1001", "1e-1001", "1e99999999999999999999", "0.1e-1000"] {
        assert_eq!(Decimal::parse(text), Err("its exponent is out of range"), "{text}");
    }
    assert!(Decimal::parse(&"9".repeat(DECIMAL_LENGTH_MAX)).is_ok());
    assert_eq!(Decimal::parse(&"9".repeat(DECIMAL_LENGTH_MAX + 1)), Err("the number is too long"));
}

#[test]
fn doubles_become_their_shortest_digits() {
    for (double, written) in [
        (0.0, "0.0"),
        (-0.0, "0.0"),
        (0.1, "0.1"),
        (100.0, "100.0"),
        (std::f64::consts::SQRT_2, "1.4142135623730951"),
        (1_267_650_600_228_229_401_496_703_205_376.0, "1.2676506002282294E+30"),
        (1e7, "1.0E+7"),
        (12_345_678.0, "12345678"),
        (9_999_999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.000_1, "0.00010"),
        (1.5e-7, "1.5E-7"),
        (1e23, "1.0E+23"),
        (f64::MAX, "1.7976931348623157E+308"),
        (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
        (5e-324, "4.9E-324"),
        (-2.5, "-2.5"),
    ] {
        let decimal = Decimal::from_f64(double).unwrap();
        assert_eq!(decimal.to_string(), written);
        assert!(decimal.to_f64().to_bits() == double.to_bits() || double == 0.0, "{double}");
    }
    assert_eq!(Decimal::from_f64(f64::NAN), None);
    assert_eq!(Decimal::from_f64(f64::NEG_INFINITY), None);
}

#[test]
fn whole_numbers_are_recognized_however_they_are_written() {
    for (text, whole) in [
        ("2", Some(2)),
        ("2.0", Some(2)),
        ("2e1", Some(20)),
        ("0.00", Some(0)),
        ("2.5", None),
        ("-9223372036854775808", Some(i64::MIN)),
        ("-9223372036854775808.000", Some(i64::MIN)),
        ("9223372036854775808", None),
        ("1e18", Some(1_000_000_000_000_000_000)),
        ("1e19", None),
        ("0e500", Some(0)),
    ] {
        assert_eq!(decimal(text).to_i64(), whole, "{text}");
    }
    for (text, is_whole) in
        [("1e999", true), ("1.00", true), ("0.5", false), ("123456789012345678901.50", false)]
    {
        assert_eq!(decimal(text).is_integer(), is_whole, "{text}");
    }
}

/// As the engine keeps 0, 1 and 10: `Value.of` gives the same value for all that equal them.
#[test]
fn zero_one_and_ten_lose_their_digits_and_no_others() {
    for (text, kept) in [
        ("0.00", "0"),
        ("0e500", "0"),
        ("-0.0", "0"),
        ("1.0", "1"),
        ("10e-1", "1"),
        ("1.000000000000000000000000000000", "1"),
        ("10.0", "10"),
        ("1e1", "10"),
        ("-1.0", "-1.0"),
        ("2.0", "2.0"),
        ("1e2", "1E+2"),
        ("1.0000000000000000000000000000001", "1.0000000000000000000000000000001"),
    ] {
        assert_eq!(decimal(text).interned().to_string(), kept, "{text}");
    }
}
