//! What traces are in the world, and what must not pass for one.

use super::*;

mod lines;

use proptest::prelude::*;
use std::path::PathBuf;

fn read(text: &str) -> Result<Trace, TraceError> {
    read_trace_from(text.as_bytes(), "t.csv", &TraceOptions::default())
}

/// Read with these columns.
fn mapped(map: &ColumnMap) -> TraceOptions {
    TraceOptions {
        columns: Some(map.clone()),
        ..TraceOptions::default()
    }
}

fn message(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

/// A file of the shared data, if it is there.
fn shared(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/data/traces")
        .join(name);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

const AZURE: &str = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n\
    2023-11-16 18:17:03.9799600,4808,10\r\n\
    2023-11-16 18:17:04.0319600,3180,8\r\n\
    2023-11-16 18:17:04.0781490,110,27";

#[test]
fn azure_as_published() {
    // T19: CRLF, seven-digit fractions, no final newline.
    let trace = read(AZURE).unwrap();
    let rows: Vec<_> = trace
        .requests
        .iter()
        .map(|r| (r.arrival_s, r.input, r.output))
        .collect();
    assert_eq!(
        rows,
        [(0.0, 4808, 10), (0.052, 3180, 8), (0.098_189, 110, 27)]
    );
    assert!(trace.warnings.is_empty());
    assert_eq!(
        read(&format!("\u{feff}{AZURE}")).unwrap(),
        trace,
        "a byte order mark"
    );
}

#[test]
fn azure_counts_and_longest_prompts() {
    for (name, rows, longest) in [
        ("azure2023_code.csv", 8819, 7437),
        ("azure2023_conv.csv", 19_366, 14_050),
    ] {
        let Some(path) = shared(name) else { continue };
        let trace = read_trace(&path, &TraceOptions::default()).unwrap();
        assert_eq!(trace.requests.len(), rows, "{name}");
        assert_eq!(
            trace.requests.iter().map(|r| r.input).max(),
            Some(longest),
            "{name}"
        );
        assert_eq!(trace.requests[0].arrival_s, 0.0);
        assert!(
            trace
                .requests
                .is_sorted_by_key(|r| (r.arrival_s * 1e9) as u64)
        );
        assert_eq!(trace.name, name);
    }
}

#[test]
fn our_own_columns_in_any_order_with_others_between() {
    let trace = read(
        "num_decode_tokens,note,arrived_at,num_prefill_tokens\n7,x,10.5,100\n\n8,\"a, b\",11,200\n",
    )
    .unwrap();
    let rows: Vec<_> = trace
        .requests
        .iter()
        .map(|r| (r.arrival_s, r.input, r.output))
        .collect();
    assert_eq!(rows, [(0.0, 100, 7), (0.5, 200, 8)]);
}

#[test]
fn server_tokens_at_the_time_of_sending() {
    // T26: the client counts 100 tokens, the server 118; arrived at 0, sent at 2 s.
    let text = "arrived,sent,client_in,server_in,out\n0,0,90,95,5\n0,2,100,118,5\n";
    let map = ColumnMap::new("sent", "server_in", "out");
    let trace = read_trace_from(text.as_bytes(), "t", &mapped(&map)).unwrap();
    assert_eq!(
        trace.requests[1],
        TraceRequest {
            arrival_s: 2.0,
            input: 118,
            output: 5,
        }
    );
    let map = ColumnMap {
        arrival: "sent_at".to_owned(),
        ..map
    };
    let error = read_trace_from(text.as_bytes(), "t", &mapped(&map))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("“sent_at”") && error.contains("“server_in”"),
        "{error}"
    );
}

#[test]
fn failed_requests_are_refused_or_counted() {
    // T21: BurstGPT marks failures by 0 answer tokens.
    let text = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
        5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,0,1087,Conversation log\n\
        118,GPT-4,417,276,693,Conversation log\n";
    let error = message(text);
    assert!(
        error.contains("line 3, column 4 (Response tokens)") && error.contains("drop_failed"),
        "{error}"
    );
    let options = TraceOptions {
        drop_failed: true,
        ..TraceOptions::default()
    };
    let trace = read_trace_from(text.as_bytes(), "t", &options).unwrap();
    assert_eq!(trace.requests.len(), 2);
    assert_eq!(trace.requests[1].arrival_s, 113.0);
    assert!(
        trace.warnings[0].starts_with("1 failed"),
        "{:?}",
        trace.warnings
    );
    let error = message("arrival_s,input_tokens,output_tokens\n0,0,5\n");
    assert!(error.contains("line 2, column 2 (input_tokens)"), "{error}");
}

#[test]
fn dialects_are_named() {
    // T28.
    let error = message("arrival_s;input_tokens;output_tokens\n0,5;3;4\n");
    assert!(
        error.contains("semicolons") && error.contains("decimal point"),
        "{error}"
    );
    assert!(message("arrival_s\tinput_tokens\toutput_tokens\n").contains("tabs"));
    let error = message("arrival_s,input_tokens,output_tokens\n0,5,3,4\n");
    assert!(
        error.contains("line 2") && error.contains("4 values"),
        "{error}"
    );
    let error = message("arrival_s,input_tokens,output_tokens\n\"0,5\",3,4\n");
    assert!(
        error.contains("line 2, column 1 (arrival_s)") && error.contains("“0.5”"),
        "{error}"
    );
}

#[test]
fn bad_values_have_a_line_and_a_column() {
    let header = "arrival_s,input_tokens,output_tokens\n0,1,1\n";
    for (row, place) in [
        ("NaN,1,1", "line 3, column 1"),
        ("inf,1,1", "line 3, column 1"),
        ("-1,1,1", "line 3, column 1"),
        ("1,-5,1", "line 3, column 2"),
        ("1,1,1.5", "line 3, column 3"),
        ("1,1,", "line 3, column 3"),
        ("1,1", "line 3"),
        ("2023-11-16 18:17:03,1,1", "31 years"),
    ] {
        let error = message(&format!("{header}{row}\n"));
        assert!(error.contains(place), "{row}: {error}");
    }
}

#[test]
fn rows_out_of_order_are_sorted_stably_and_told() {
    let trace = read("arrival_s,input_tokens,output_tokens\n5,1,1\n3,2,1\n3,3,1\n4,4,1\n").unwrap();
    let rows: Vec<_> = trace
        .requests
        .iter()
        .map(|r| (r.arrival_s, r.input))
        .collect();
    assert_eq!(rows, [(0.0, 2), (0.0, 3), (1.0, 4), (2.0, 1)]);
    assert!(trace.warnings[0].contains("line 3"), "{:?}", trace.warnings);
}

#[test]
fn nothing_is_no_trace() {
    assert!(matches!(read(""), Err(TraceError::Empty { .. })));
    assert!(matches!(
        read("arrival_s,input_tokens,output_tokens\n"),
        Err(TraceError::Empty { .. })
    ));
    assert!(matches!(
        read("0.0,374,44\n"),
        Err(TraceError::NoColumn { .. })
    ));
    assert!(matches!(
        read_trace_from(&b"\xff\xfea\0"[..], "t", &TraceOptions::default()),
        Err(TraceError::NotText { .. })
    ));
    assert!(matches!(
        read_trace(Path::new("/nowhere/x.csv"), &TraceOptions::default()),
        Err(TraceError::Read { .. })
    ));
    assert!(matches!(
        read_trace(&std::env::temp_dir(), &TraceOptions::default()),
        Err(TraceError::Read { .. })
    ));
}

#[test]
fn a_huge_file_is_refused_by_its_size() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(2 << 30).unwrap();
    let started = std::time::Instant::now();
    assert!(matches!(
        read_trace(file.path(), &TraceOptions::default()),
        Err(TraceError::TooLarge { .. })
    ));
    assert!(started.elapsed().as_millis() < 500);
}

#[test]
fn an_endless_stream_ends() {
    let endless = std::io::repeat(b'a');
    assert!(matches!(
        read_trace_from(endless, "t", &TraceOptions::default()),
        Err(TraceError::TooLarge { .. })
    ));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_trace_from(&bytes[..], "t", &TraceOptions::default());
        let mut text = b"arrival_s,input_tokens,output_tokens\n".to_vec();
        text.extend(bytes);
        let _ = read_trace_from(&text[..], "t", &TraceOptions::default());
    }

    #[test]
    fn what_is_written_is_read(rows in proptest::collection::vec((0_u32..4_000_000, 1_u64..100_000, 1_u64..5000), 1..50)) {
        let mut rows = rows;
        rows.sort_by_key(|row| row.0);
        let mut text = "arrived_at,num_prefill_tokens,num_decode_tokens\n".to_owned();
        for (ms, input, output) in &rows {
            text.push_str(&format!("{}.{:03},{input},{output}\n", ms / 1000, ms % 1000));
        }
        let trace = read(&text).unwrap();
        prop_assert_eq!(trace.requests.len(), rows.len());
        for (request, (ms, input, output)) in trace.requests.iter().zip(&rows) {
            prop_assert_eq!(request.arrival_s, f64::from(ms - rows[0].0) / 1000.0);
            prop_assert_eq!((request.input, request.output), (*input, *output));
        }
    }
}
