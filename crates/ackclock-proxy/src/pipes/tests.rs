//! Pipes, what they hold and how many there are.

use super::*;
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream as Plain};

/// A connection: who writes, and who is spliced from.
fn pair() -> (Plain, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let writes = Plain::connect(listener.local_addr().unwrap()).unwrap();
    writes.set_nodelay(true).unwrap();
    let read = listener.accept().unwrap().0;
    read.set_nonblocking(true).unwrap();
    (writes, TcpStream::from_std(read).unwrap())
}

/// What the next fill has that has something: what was written may come a moment later.
async fn filled(held: &mut Held<'_>, from: &TcpStream) -> Filled {
    let something = async {
        loop {
            from.readable().await.unwrap();
            match held.fill(from).unwrap() {
                Filled::Nothing => tokio::task::yield_now().await,
                filled => return filled,
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), something).await.unwrap()
}

#[tokio::test]
async fn the_end_behind_a_full_pipe_is_seen() {
    for spliced in [true, false] {
        let (mut writes, from) = pair();
        let pipes = Pipes::new(spliced, 4096, 1 << 20);
        let mut held = pipes.take().await;
        // Each is in a page of its own in a pipe, of which there are 16; memory has room for more.
        let pages = 16;
        for number in 0..pages {
            writes.write_all(b"x").unwrap();
            assert_eq!((filled(&mut held, &from).await, number + 1), (Filled::Bytes(1), held.bytes()));
        }
        assert_eq!(held.fill(&from).unwrap(), Filled::Nothing);
        writes.write_all(b"y").unwrap();
        let more = filled(&mut held, &from).await;
        assert_eq!(more, if spliced { Filled::Full } else { Filled::Bytes(1) });
        if spliced {
            // What was one too many is taken out, and the end comes behind what just fits.
            recv(&from, &mut [0u8; 1], RecvFlags::DONTWAIT).unwrap();
            assert_eq!(held.fill(&from).unwrap(), Filled::Nothing);
        }
        writes.shutdown(Shutdown::Write).unwrap();
        // Else whoever waits for it to be readable would be told at once, and find nothing, again and again.
        assert_eq!(filled(&mut held, &from).await, Filled::End);
    }
}

#[test]
fn pipes_that_are_given_up_are_made_anew_where_few_are_left() {
    let pipes = Pipes::new(true, 1 << 16, 1 << 20);
    pipes.reserve(2).unwrap();
    for _ in 0..3 {
        let mut held = pipes.at_once().unwrap();
        held.put(b"left").unwrap();
        drop(held);
        assert_eq!(pipes.list().len(), 2);
    }
    let Some(Room::Pipe(new)) = &pipes.at_once().unwrap().room else { panic!("no pipe") };
    assert_eq!(rustix::io::read(&new.read, &mut [0; 8]), Err(Errno::AGAIN), "it is empty");
}

/// A buffer of a pipe may be many pages of a socket: 64 of them are 2 MB.
#[tokio::test]
async fn a_pipe_holds_no_more_than_a_direction_may() {
    const EACH: usize = 1 << 18;
    let (mut writes, from) = pair();
    let writer = std::thread::spawn(move || drop(writes.write_all(&vec![7; 1 << 22])));
    let pipes = Pipes::new(true, EACH, 1 << 20);
    let mut held = pipes.take().await;
    loop {
        match filled(&mut held, &from).await {
            Filled::Bytes(_) => assert!(held.bytes() <= EACH, "{}", held.bytes()),
            Filled::Full if held.grow() => {}
            Filled::Full => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(held.bytes() > 0);
    // What is behind it comes when there is room.
    let (_reads, to) = pair();
    to.writable().await.unwrap();
    assert!(held.drain(&to).unwrap() > 0);
    assert!(matches!(filled(&mut held, &from).await, Filled::Bytes(_)));
    drop(from);
    let _ = writer.join();
}
