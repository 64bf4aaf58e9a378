use super::*;
use proptest::prelude::*;

fn rate(text: &str) -> ByteRate {
    text.parse().unwrap()
}

#[test]
fn the_same_link_in_three_spellings() {
    assert_eq!(rate("400G"), rate("400 Gb/s"));
    assert_eq!(rate("400 Gb/s"), rate("50 GB/s"));
    assert_eq!(rate("400 Gb/s").to_string(), "50 GB/s");
}

#[test]
fn gb_is_not_gib() {
    let decimal: Bytes = "80 GB".parse().unwrap();
    let binary: Bytes = "80 GiB".parse().unwrap();
    assert_eq!(decimal.get(), 80_000_000_000);
    assert_eq!(binary.get(), 85_899_345_920);
    assert_eq!(decimal.to_string(), "80 GB");
    assert_eq!(binary.to_string(), "80 GiB");
}

#[test]
fn prints_as_people_write() {
    for text in ["3.35 TB/s", "50 GB/s", "900 GB/s"] {
        assert_eq!(rate(text).to_string(), text);
    }
    for text in ["989 TFLOPS", "1979 TFLOPS", "13500 TFLOPS"] {
        assert_eq!(text.parse::<FlopRate>().unwrap().to_string(), text);
    }
    assert_eq!("1.3 us".parse::<Seconds>().unwrap().to_string(), "1.3 us");
    assert_eq!("700 W".parse::<Watts>().unwrap().to_string(), "700 W");
    assert_eq!(
        "$2/h".parse::<DollarsPerHour>().unwrap().to_string(),
        "2 $/h"
    );
    assert_eq!("2048".parse::<Tokens>().unwrap().to_string(), "2048");
}

#[test]
fn what_is_typed_in_a_unit_prints_so() {
    for unit in ["ns", "us", "ms"] {
        for count in 1..1000 {
            let text = format!("{count} {unit}");
            assert_eq!(text.parse::<Seconds>().unwrap().to_string(), text);
        }
    }
}

#[test]
fn a_time_is_the_same_in_every_unit() {
    for (text, same) in [
        ("0.1 ms", "100 us"),
        ("0.25 us", "250 ns"),
        ("0.004 s", "4 ms"),
    ] {
        let span: Seconds = text.parse().unwrap();
        assert_eq!(span, same.parse().unwrap());
        assert_eq!(span.to_string(), same);
    }
    assert_eq!(Seconds::from_ms(0.1).to_string(), "100 us");
    assert_eq!(Seconds::new(1e-4).to_string(), "100 us");
    assert_eq!(Seconds::from_us(3.5).to_string(), "3.5 us");
}

#[test]
fn decimal_comma_is_refused_with_the_right_spelling() {
    let refused = "0,5 GB".parse::<Bytes>().unwrap_err();
    assert!(refused.to_string().contains("“0.5 GB”"), "{refused}");
    assert!("1,000 GB/s".parse::<ByteRate>().is_err());
}

#[test]
fn refusals_name_what_is_wrong() {
    assert!(matches!("".parse::<Bytes>(), Err(UnitError::Empty { .. })));
    assert!(matches!(
        "80".parse::<Bytes>(),
        Err(UnitError::MissingUnit { .. })
    ));
    assert!(matches!(
        "80 Gb".parse::<Bytes>(),
        Err(UnitError::UnknownUnit { .. })
    ));
    assert!(matches!(
        "-1 GB".parse::<Bytes>(),
        Err(UnitError::Negative { .. })
    ));
    assert!(matches!(
        "NaN W".parse::<Watts>(),
        Err(UnitError::OutOfRange { .. })
    ));
    assert!(matches!(
        "inf W".parse::<Watts>(),
        Err(UnitError::OutOfRange { .. })
    ));
    assert!(matches!(
        "1e400 W".parse::<Watts>(),
        Err(UnitError::OutOfRange { .. })
    ));
    assert!(matches!(
        "1.5 B".parse::<Bytes>(),
        Err(UnitError::NotWhole { .. })
    ));
    assert!(matches!(
        "fast".parse::<ByteRate>(),
        Err(UnitError::NotANumber { .. })
    ));
    assert!("9".repeat(1000).parse::<Bytes>().is_err());
}

#[test]
fn a_transfer_takes_bytes_over_rate() {
    // Llama-70B's KV of 8,192 tokens over one 400G NIC: 53.7 ms (cases.md T48).
    let took = Bytes::new(327_680 * 8192) / rate("400 Gb/s");
    assert!((took.get() - 53.687e-3).abs() < 1e-6);
}

proptest! {
    #[test]
    fn bytes_round_trip(count in 0u64..(1 << 52)) {
        let bytes = Bytes::new(count);
        prop_assert_eq!(bytes.to_string().parse::<Bytes>().unwrap(), bytes);
    }

    #[test]
    fn rates_round_trip(value in 0.0f64..1e15) {
        let rate = ByteRate::new(value);
        prop_assert_eq!(rate.to_string().parse::<ByteRate>().unwrap(), rate);
    }

    #[test]
    fn seconds_round_trip(value in 0.0f64..1e5) {
        let span = Seconds::new(value);
        prop_assert_eq!(span.to_string().parse::<Seconds>().unwrap(), span);
    }

    #[test]
    fn any_text_parses_or_is_refused(text in ".{0,80}") {
        let _ = text.parse::<Bytes>();
        let _ = text.parse::<ByteRate>();
        let _ = text.parse::<Tokens>();
    }
}
