//! Recorded sessions are replayed in order, and not before they can be.

use super::super::{Drawn, Segment, Source};
use crate::workload::{
    Arrivals, Load, PriorityClass, Trace, TraceOptions, Workload, read_trace_from,
};
use std::sync::Arc;

fn read(text: &str) -> Arc<Trace> {
    Arc::new(read_trace_from(text.as_bytes(), "t", &TraceOptions::default()).unwrap())
}

fn source(trace: &Arc<Trace>, requests: u64) -> Source {
    let workload = Workload {
        arrivals: Arrivals::Trace,
        requests,
        ..Workload::fixed(1, 1, 1)
    };
    Source::new(&workload, Load::TraceSpeed(1.0), Some(trace.clone()), None).unwrap()
}

fn drawn(source: &mut Source) -> (Drawn, Vec<Segment>) {
    let mut text = Vec::new();
    let drawn = source.draw(&mut text).unwrap();
    (drawn, text)
}

const CHATS: &str = "arrived_at,num_prefill_tokens,num_decode_tokens,priority,session_id\n\
    0,100,10,3,a\n1,50,5,0,b\n2,150,20,-1,a\n3,30,5,0,\n4,90,10,2,a\n";

#[test]
fn a_session_waits_for_its_answers() {
    let mut source = source(&read(CHATS), 0);
    assert_eq!((source.requests(), source.starts()), (5, 3));
    let (first, text) = drawn(&mut source);
    assert_eq!((first.input, first.priority, text.len()), (100, 3, 1));
    let (other, _) = drawn(&mut source);
    let (alone, _) = drawn(&mut source);
    assert_eq!((other.input, alone.input), (50, 30));
    assert!(source.draw(&mut Vec::new()).is_none());
    let mut words = Vec::new();
    // Answered early: at its own time. Its prompt holds the first one, the answer and 40 more.
    let second = source
        .follow(first.turn.unwrap(), 500_000_000, &mut words)
        .unwrap();
    assert_eq!(second.arrival_ns, Some(2_000_000_000));
    assert_eq!((second.input, second.priority), (150, -1));
    assert_eq!(words[0], text[0]);
    assert_eq!(
        (words[1].id, words[1].tokens, words[2].tokens),
        (first.answer, 10, 40)
    );
    // Answered late: then. A prompt too short for what was said is a new one.
    let third = source
        .follow(second.turn.unwrap(), 9_000_000_000, &mut words)
        .unwrap();
    assert_eq!(third.arrival_ns, Some(9_000_000_000));
    assert_eq!((words.len(), words[0].tokens), (1, 90));
    assert!(source.follow(third.turn.unwrap(), 0, &mut words).is_none());
    assert!(source.follow(other.turn.unwrap(), 0, &mut words).is_none());
}

#[test]
fn a_cut_trace_ends_its_sessions() {
    let mut source = source(&read(CHATS), 3);
    assert_eq!((source.requests(), source.starts()), (3, 2));
    let (first, _) = drawn(&mut source);
    let mut words = Vec::new();
    let second = source.follow(first.turn.unwrap(), 0, &mut words).unwrap();
    assert!(source.follow(second.turn.unwrap(), 0, &mut words).is_none());
}

#[test]
fn priorities_of_the_workload_hold_where_the_trace_has_none() {
    let plain = read("arrival_s,input_tokens,output_tokens\n0,1,1\n");
    for (trace, priority) in [(plain, 9), (read(CHATS), 3)] {
        let workload = Workload {
            arrivals: Arrivals::Trace,
            requests: 0,
            priorities: vec![PriorityClass {
                priority: 9,
                share: 1.0,
            }],
            ..Workload::fixed(1, 1, 1)
        };
        let mut source = Source::new(&workload, Load::TraceSpeed(1.0), Some(trace), None).unwrap();
        assert_eq!(source.next().unwrap().priority, priority);
    }
}

#[test]
fn block_hashes_are_the_text() {
    // T20: ids 1 and 4294967297 are equal in 32 bits, and not the same block.
    let trace = read(concat!(
        "{\"timestamp\":0,\"input_length\":513,\"output_length\":1,\"hash_ids\":[1,2]}\n",
        "{\"timestamp\":0,\"input_length\":513,\"output_length\":1,\"hash_ids\":[4294967297,2]}\n",
        "{\"timestamp\":0,\"input_length\":1024,\"output_length\":1,\"hash_ids\":[1,7]}\n",
    ));
    let mut source = source(&trace, 0);
    let texts: Vec<_> = (0..3).map(|_| drawn(&mut source).1).collect();
    let lengths: Vec<Vec<u32>> = texts
        .iter()
        .map(|text| text.iter().map(|s| s.tokens).collect())
        .collect();
    assert_eq!(lengths, [vec![512, 1], vec![512, 1], vec![512, 512]]);
    assert_ne!(texts[0][0].id, texts[1][0].id);
    assert_eq!(texts[0][0], texts[2][0]);
    assert_eq!(texts[0][1], texts[1][1]);
    // One block of six is met again after the same beginning.
    assert_eq!(trace.facts().seen_before, Some(1.0 / 6.0));
}
