//! Runs the network thread. Each connection has one, which runs all asynchronous code of the connection. Worker threads
//! give it futures, and wait for the results.

use super::network_error::NetworkError;
use crossbeam_channel::{Receiver, bounded};
use std::io;
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The name of the network thread.
const NAME: &str = "gpufeed-net";

/// The network thread, which executes futures. When this is dropped, the thread ends, with all futures that it has not
/// finished.
#[derive(Debug)]
pub(super) struct Runtime {
    handle: Handle,
    /// The id of the process that started the thread. A child process that is made by a fork does not have the thread.
    process: u32,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Runtime {
    /// Starts the network thread.
    ///
    /// # Errors
    /// The system's, if it can start no thread.
    pub(super) fn start() -> io::Result<Runtime> {
        // Up to 4 further threads do blocking work: they resolve host names, and read the cache on disk.
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(4).build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name(NAME.to_owned()).spawn(move || {
            let _ = runtime.block_on(stopped);
            // Ends without waiting for blocking work. Resolving a host name cannot be stopped, and waiting for it would
            // delay the program's end.
            runtime.shutdown_background();
        })?;
        Ok(Runtime { handle, process: std::process::id(), stop: Some(stop), thread: Some(thread) })
    }

    /// Runs a future, and waits until it is done. Must not be called on the network thread.
    ///
    /// # Errors
    /// The error of the future; or another error, if the thread has ended, or if this process is the child of a fork.
    pub(super) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        if std::process::id() != self.process {
            return Err(gone());
        }
        let ended = || io::Error::other(NetworkError("the thread of the network has ended before this request".into()));
        self.spawn(future).recv().unwrap_or_else(|_| Err(ended()))
    }

    /// Starts a future, and returns the channel that gets its result.
    pub(super) fn spawn<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Receiver<T> {
        let (result, receiver) = bounded(1);
        self.handle.spawn(async move {
            let _ = result.send(future.await);
        });
        receiver
    }

    /// Returns the executor, for tasks that start other tasks.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }
}

/// Returns the error of a request that outlived the network thread: the thread panicked, or this process is the child
/// of a fork.
pub(super) fn gone() -> io::Error {
    let reason =
        "the thread of the network has ended; a data set that was opened before a fork cannot be read after it";
    io::Error::other(NetworkError(reason.into()))
}

impl Drop for Runtime {
    fn drop(&mut self) {
        drop(self.stop.take());
        let Some(thread) = self.thread.take() else { return };
        if thread.thread().id() != std::thread::current().id() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_comes_back_and_the_thread_ends_with_its_owner() {
        let runtime = Runtime::start().unwrap();
        assert_eq!(runtime.run(async { Ok(7) }).unwrap(), 7);
        let never = runtime.spawn(std::future::pending::<()>());
        drop(runtime);
        assert!(never.recv().is_err(), "what is under way ends too");
    }

    #[test]
    fn a_process_that_was_forked_gets_an_error_instead_of_waiting() {
        // Makes it look as in the child of a fork, where another process has started the thread.
        let mut forked = Runtime::start().unwrap();
        forked.process += 1;
        let error = forked.run(async { Ok(7) }).unwrap_err().to_string();
        assert!(error.contains("before a fork cannot be read after it"), "{error}");
    }

    #[test]
    fn a_task_that_panics_is_an_error() {
        let runtime = Runtime::start().unwrap();
        let result: io::Result<()> = runtime.run(async { panic!("as the test wants") });
        assert!(result.is_err());
        assert_eq!(runtime.run(async { Ok(7) }).unwrap(), 7);
    }
}
