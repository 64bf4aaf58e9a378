//! JSON lines, block hashes, ties and windows.

use super::*;
use crate::workload::Source;

fn row(timestamp: &str, input: u64, hashes: &str) -> String {
    format!(
        "{{\"timestamp\": {timestamp}, \"input_length\": {input}, \"output_length\": 7, \"hash_ids\": {hashes}}}\n"
    )
}

fn with(text: &str, options: TraceOptions) -> Result<Trace, TraceError> {
    read_trace_from(text.as_bytes(), "t.jsonl", &options)
}

#[test]
fn mooncake_as_published() {
    // T20: 12,031 rows, 1,180 distinct times, bursts up to 28, prompts to 126,195 tokens, and a
    // hash for every 512 of them.
    let Some(path) = shared("mooncake_conversation.jsonl") else {
        return;
    };
    let trace = read_trace(&path, &TraceOptions::default()).unwrap();
    assert_eq!(trace.requests.len(), 12_031);
    assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
    let mut bursts = Vec::new();
    for request in &trace.requests {
        match bursts.last_mut() {
            Some((at, count)) if *at == request.arrival_s => *count += 1,
            _ => bursts.push((request.arrival_s, 1)),
        }
    }
    assert_eq!(bursts.len(), 1180);
    assert_eq!(bursts.iter().map(|(_, count)| *count).max(), Some(28));
    let longest = trace.requests.iter().map(|r| r.input).max();
    assert_eq!(longest, Some(126_195));
    for (row, request) in trace.requests.iter().enumerate() {
        let text = trace.text(row);
        assert_eq!(text.len() as u64, request.input.div_ceil(512));
        let tokens: u64 = text.iter().map(|s| u64::from(s.tokens)).sum();
        assert_eq!(tokens, request.input);
    }
    // The ideal hit rate of a cache without end.
    let seen = trace.facts().seen_before.unwrap();
    assert!((seen - 0.366).abs() < 0.0005, "{seen}");
}

#[test]
fn the_other_mooncake_trace_is_one_too() {
    let Some(path) = shared("mooncake_synthetic.jsonl") else {
        return;
    };
    let trace = read_trace(&path, &TraceOptions::default()).unwrap();
    assert!(trace.requests.len() > 1000);
    assert!(trace.facts().seen_before.is_some());
}

#[test]
fn rows_of_equal_time_keep_their_order() {
    let text = [3, 1, 2].map(|n| row("3000", 512 * n, "null")).concat() + &row("0", 99, "null");
    let trace = read(&text).unwrap();
    let rows: Vec<_> = trace
        .requests
        .iter()
        .map(|r| (r.arrival_s, r.input))
        .collect();
    assert_eq!(rows, [(0.0, 99), (3.0, 1536), (3.0, 512), (3.0, 1024)]);
    assert!(trace.warnings[0].contains("line 4"), "{:?}", trace.warnings);
    assert_eq!(trace.facts().seen_before, None);
}

#[test]
fn blocks_that_do_not_fit_are_refused_by_line() {
    // T20: a prompt of 20 tokens is one block.
    let good = row("0", 512, "[0]");
    for (bad, says) in [
        (row("1", 20, "[0, 1]"), "1 blocks of 512, not the 2"),
        (row("1", 513, "[5]"), "2 blocks of 512, not the 1"),
        (row("1", 512, "[1.5]"), "block hash"),
        (row("1", 512, "[[1]]"), "block hash"),
        (row("1", 512, "7"), "a list of block hashes"),
        (row("1", 512, "[1"), "column"),
        (row("-1", 512, "[1]"), "“timestamp”: “-1” is negative"),
        (row("\"soon\"", 512, "[1]"), "not a number"),
        (row("null", 512, "[1]"), "empty"),
        (row("1e300", 512, "[1]"), "future"),
        (row("1", 0, "[]"), "at least 1 token"),
        (row("1", 99_999_999, "[]"), "the most is"),
        ("{\"timestamp\": 1}\n".to_owned(), "no “input_length”"),
        ("[1]\n".to_owned(), "an object"),
        (
            "{\"timestamp\": 1, \"input_length\": {}}\n".to_owned(),
            "a number or a text",
        ),
        (
            row("1", 512, "[1]").trim_end().to_owned() + " x\n",
            "trailing",
        ),
        ("é\n".to_owned(), "column"),
        ("{\"a\":".repeat(5000) + "\n", "EOF"),
    ] {
        let error = message(&format!("{good}\n{bad}{good}"));
        assert!(
            error.contains("line 3") && error.contains(says),
            "{says}: {error}"
        );
    }
}

#[test]
fn blocks_of_another_length_and_with_names() {
    let options = TraceOptions {
        block_tokens: Some(16),
        ..TraceOptions::default()
    };
    let text = row("0", 20, "[\"a\", \"b\"]") + &row("0", 20, "[\"a\", -7]");
    let trace = with(&text, options).unwrap();
    assert_eq!(trace.text(0)[0], trace.text(1)[0]);
    assert_ne!(trace.text(0)[1], trace.text(1)[1]);
    assert_eq!(trace.text(1)[1].tokens, 4);
}

#[test]
fn columns_of_csv_say_blocks_too() {
    let text = "arrived_at,num_prefill_tokens,num_decode_tokens,block_hash_ids\n\
        0,1100,5,1|2|3\n1,1100,5,1|2\n2,1100,5,\n3,100,5, 9 \n";
    let trace = read(text).unwrap();
    let tokens = |row: usize| -> Vec<u32> { trace.text(row).iter().map(|s| s.tokens).collect() };
    assert_eq!(tokens(0), [512, 512, 76]);
    assert_eq!(
        tokens(1),
        [512, 512, 76],
        "whole blocks named, the rest its own"
    );
    assert_eq!(trace.text(0)[..2], trace.text(1)[..2]);
    assert_ne!(trace.text(0)[2].id, trace.text(1)[2].id);
    assert!(trace.text(2).is_empty());
    assert_eq!(tokens(3), [100]);
    let error =
        message("arrived_at,num_prefill_tokens,num_decode_tokens,block_hash_ids\n0,1100,5,1||3\n");
    assert!(
        error.contains("line 2, column 4") && error.contains("empty"),
        "{error}"
    );
    let error = message("arrived_at,num_prefill_tokens,num_decode_tokens,priority\n0,1,5,high\n");
    assert!(error.contains("line 2, column 4 (priority)"), "{error}");
}

#[test]
fn a_map_names_keys_and_columns() {
    let map = ColumnMap {
        priority: Some("class".to_owned()),
        session: Some("chat".to_owned()),
        ..ColumnMap::new("at", "in", "out")
    };
    for text in [
        "at,in,out,class,chat\n5,10,3,-2,x\n6,30,3,0,x\n",
        "{\"at\":5,\"in\":10,\"out\":3,\"class\":-2,\"chat\":\"x\"}\n{\"at\":6.0,\"in\":30,\"out\":\"3\",\"chat\":\"x\",\"more\":[{}]}",
    ] {
        let trace = with(text, mapped(&map)).unwrap();
        let rows: Vec<_> = trace
            .requests
            .iter()
            .map(|r| (r.arrival_s, r.input))
            .collect();
        assert_eq!(rows, [(0.0, 10), (1.0, 30)]);
        assert_eq!(trace.extras.priorities, [-2, 0]);
        assert_eq!(trace.extras.links.next, [1, u32::MAX]);
        assert_eq!(trace.extras.links.head, [0, 0]);
    }
    let text = "at,in,out\n5,10,3\n";
    let error = with(text, mapped(&map)).unwrap_err().to_string();
    assert!(error.contains("“class”"), "{error}");
}

#[test]
fn ties_are_spread_and_said_so() {
    let text = [0, 0, 0, 3000, 3000, 4000]
        .map(|at| row(&at.to_string(), 9, "null"))
        .concat();
    let times = |ties| {
        let options = TraceOptions {
            ties,
            ..TraceOptions::default()
        };
        let trace = with(&text, options).unwrap();
        let times: Vec<f64> = trace.requests.iter().map(|r| r.arrival_s).collect();
        (times, trace.warnings)
    };
    assert_eq!(
        times(Ties::Together),
        (vec![0.0, 0.0, 0.0, 3.0, 3.0, 4.0], Vec::new())
    );
    let (even, said) = times(Ties::Even);
    assert_eq!(even, [0.0, 1.0, 2.0, 3.0, 3.5, 4.0]);
    assert!(said[0].starts_with("3 requests"), "{said:?}");
    let (random, said) = times(Ties::Random);
    assert!(said[0].contains("at random"), "{said:?}");
    assert!(random.is_sorted());
    assert!(random[..3].iter().all(|t| *t < 3.0) && random[3..5].iter().all(|t| *t < 4.0));
    assert_eq!(random, times(Ties::Random).0, "the same ones every time");
    assert_ne!(random[1], even[1]);
}

#[test]
fn a_window_is_cut_and_counted_from_its_start() {
    // T21: the head of a trace may be a hundred times slower than the rest.
    let text: String = (0..10)
        .map(|n| n * 100)
        .chain(1000..1240)
        .map(|second| row(&(second * 1000).to_string(), 9, "null"))
        .collect();
    let window = |from, to| TraceOptions {
        window: Some(Window {
            from: Seconds::new(from),
            to: Seconds::new(to),
        }),
        ..TraceOptions::default()
    };
    let whole = with(&text, TraceOptions::default()).unwrap().facts();
    assert_eq!(whole.requests, 250);
    let (slowest, fastest) = whole.pace.unwrap();
    assert!(slowest < 0.02 && fastest > 0.9, "{whole:?}");
    let busy = with(&text, window(1000.0, 1e6)).unwrap();
    assert_eq!(busy.requests.len(), 240);
    assert_eq!(busy.requests[0].arrival_s, 0.0);
    assert!((busy.facts().rate.unwrap() - 1.0).abs() < 0.01);
    assert!(
        busy.warnings[0].starts_with("240 of 250"),
        "{:?}",
        busy.warnings
    );
    let error = with(&text, window(5000.0, 6000.0)).unwrap_err().to_string();
    assert!(error.contains("none of its 250"), "{error}");
    // All at one time has no rate, and is no division by zero.
    let burst = read(&row("5", 9, "null").repeat(3)).unwrap().facts();
    assert_eq!((burst.rate, burst.pace, burst.span_s), (None, None, 0.0));
}

#[test]
fn sessions_are_bounded() {
    let rows = "{\"timestamp\":1,\"input_length\":1,\"output_length\":1,\"session_id\":5}\n";
    assert!(read(&rows.repeat(4096)).is_ok());
    let error = message(&rows.repeat(4097));
    assert!(error.contains("more than 4096"), "{error}");
}

#[test]
fn endless_lines_and_files_end() {
    let endless = std::io::repeat(b'a').chain(&b"x"[..]);
    let json = (&b"{"[..]).chain(endless);
    let error = read_trace_from(json, "t", &TraceOptions::default()).unwrap_err();
    assert!(matches!(error, TraceError::Line { line: 1, .. }), "{error}");
    let newlines = (&b"{\"a\""[..]).chain(std::io::repeat(b'\n'));
    assert!(read_trace_from(newlines, "t", &TraceOptions::default()).is_err());
}

/// One row of a trace that is nearly one.
fn nearly() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        (0_u64..2000).prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| n.to_string()),
        Just("null".to_owned()),
        Just("\"x\"".to_owned()),
        Just("[]".to_owned()),
    ];
    let hashes = proptest::collection::vec(number.clone(), 0..5);
    (
        number.clone(),
        number.clone(),
        number.clone(),
        number,
        hashes,
    )
        .prop_map(|(at, input, output, session, hashes)| {
            format!(
                "{{\"timestamp\":{at},\"input_length\":{input},\"output_length\":{output},\"session_id\":{session},\"hash_ids\":[{}]}}\n",
                hashes.join(",")
            )
        })
}

proptest! {
    #[test]
    fn no_bytes_panic_as_lines(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for head in ["{", "{\"timestamp\":1,\"hash_ids\":[", "{\"timestamp\":0,\"input_length\":9,\"output_length\":1}\n"] {
            let mut text = head.as_bytes().to_vec();
            text.extend(&bytes);
            let _ = read_trace_from(&text[..], "t", &TraceOptions::default());
        }
    }

    /// Whatever is read can be replayed.
    #[test]
    fn what_is_nearly_a_trace_is_refused_or_replayed(
        rows in proptest::collection::vec(nearly(), 0..6),
        ties in prop_oneof![Just(Ties::Together), Just(Ties::Even), Just(Ties::Random)],
        drop_failed: bool,
        block in prop_oneof![Just(None), (0_u32..2000).prop_map(Some)],
    ) {
        let options = TraceOptions { ties, drop_failed, block_tokens: block, ..TraceOptions::default() };
        if let Ok(trace) = with(&rows.concat(), options) {
            let count = trace.requests.len() as u64;
            let workload = crate::workload::Workload {
                arrivals: crate::workload::Arrivals::Trace,
                requests: 0,
                ..crate::workload::Workload::fixed(1, 1, 1)
            };
            let load = crate::workload::Load::TraceSpeed(1.0);
            let mut source = Source::new(&workload, load, Some(trace.into()), None).unwrap();
            let (mut text, mut drawn) = (Vec::new(), 0);
            let mut at = 0;
            while let Some(mut request) = source.draw(&mut text) {
                prop_assert!(request.arrival_ns.unwrap() >= at);
                at = request.arrival_ns.unwrap();
                loop {
                    drawn += 1;
                    let tokens: u64 = text.iter().map(|s| u64::from(s.tokens)).sum();
                    prop_assert!(text.is_empty() || tokens == request.input);
                    let Some(turn) = request.turn else { break };
                    let Some(next) = source.follow(turn, 5, &mut text) else { break };
                    request = next;
                }
            }
            prop_assert_eq!(drawn, count);
        }
    }
}
