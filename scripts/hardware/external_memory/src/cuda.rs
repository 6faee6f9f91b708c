//! The consumer as CUDA's driver API, loaded when it is asked for: nothing to build against.
//!
//! Descriptions are written as words of 8 bytes, in the layout of `cuda.h` on 64-bit Linux.

use crate::Consumer;
use crate::facts::hex;
use crate::order::Order;
use crate::pattern::{BYTES, WORDS};
use crate::producer::Shared;
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::os::fd::IntoRawFd;
use std::ptr::null_mut;

type Handle = *mut c_void;

/// `CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD`, and the same of semaphores.
const OPAQUE_FD: u64 = 1;
/// `CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD`.
const TIMELINE_FD: u64 = 9;
/// `CUDA_EXTERNAL_MEMORY_DEDICATED`.
const DEDICATED: u64 = 1;
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;

macro_rules! entry_points {
    ($($field:ident = $name:literal ($($argument:ty),*);)*) => {
        /// The entry points of `libcuda.so.1` that a hand-over takes.
        struct EntryPoints { $($field: unsafe extern "C" fn($($argument),*) -> c_int,)* }

        impl EntryPoints {
            fn of(library: &Library) -> Result<EntryPoints, String> {
                // SAFETY: the types are those of cuda.h.
                unsafe {
                    Ok(EntryPoints {
                        $($field: *library.get($name).map_err(|_| {
                            format!("{} is not in the library", String::from_utf8_lossy($name))
                        })?,)*
                    })
                }
            }
        }
    };
}

entry_points! {
    init = b"cuInit" (u32);
    count = b"cuDeviceGetCount" (*mut c_int);
    device = b"cuDeviceGet" (*mut c_int, c_int);
    uuid = b"cuDeviceGetUuid_v2" (*mut u8, c_int);
    retain = b"cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    set_current = b"cuCtxSetCurrent" (Handle);
    import_memory = b"cuImportExternalMemory" (*mut Handle, *const u64);
    map = b"cuExternalMemoryGetMappedBuffer" (*mut u64, Handle, *const u64);
    unmap = b"cuMemFree_v2" (u64);
    destroy_memory = b"cuDestroyExternalMemory" (Handle);
    import_semaphore = b"cuImportExternalSemaphore" (*mut Handle, *const u64);
    destroy_semaphore = b"cuDestroyExternalSemaphore" (Handle);
    wait = b"cuWaitExternalSemaphoresAsync" (*const Handle, *const u64, u32, Handle);
    signal = b"cuSignalExternalSemaphoresAsync" (*const Handle, *const u64, u32, Handle);
    stream = b"cuStreamCreate" (*mut Handle, u32);
    copy = b"cuMemcpyDtoHAsync_v2" (*mut u32, u64, usize, Handle);
    synchronize = b"cuStreamSynchronize" (Handle);
}

pub struct Cuda {
    cuda: EntryPoints,
    stream: Handle,
    memory: Handle,
    /// The mapped buffer's address on the device.
    pointer: u64,
    order: Order,
    /// `ready` and `free`.
    semaphores: Option<[Handle; 2]>,
    host: Vec<u32>,
    _library: Library,
}

impl Cuda {
    pub fn import(name: &str, shared: Shared) -> Result<Cuda, String> {
        // SAFETY: CUDA's library has no initialiser that asks something of its caller.
        let library = unsafe { Library::new(name) }.map_err(|error| format!("no CUDA: {error}"))?;
        let cuda = EntryPoints::of(&library)?;
        // SAFETY: calls of CUDA's driver API with pointers to what they ask for, in the order that it asks for.
        unsafe {
            check("cuInit", (cuda.init)(0))?;
            let device = by_uuid(&cuda, shared.uuid)?;
            let mut context = null_mut();
            check("cuDevicePrimaryCtxRetain", (cuda.retain)(&mut context, device))?;
            check("cuCtxSetCurrent", (cuda.set_current)(context))?;

            // CUDA_EXTERNAL_MEMORY_HANDLE_DESC: the type, a union of 16 bytes, the size, the flags, reserved words.
            let mut description = [0; 13];
            // The importer owns the descriptor.
            let fd = shared.memory.into_raw_fd() as u64;
            (description[0], description[1], description[3], description[4]) = (OPAQUE_FD, fd, shared.bytes, DEDICATED);
            let mut memory = null_mut();
            check("cuImportExternalMemory", (cuda.import_memory)(&mut memory, description.as_ptr()))?;
            // CUDA_EXTERNAL_MEMORY_BUFFER_DESC: the offset, the size, the flags, reserved words.
            let mut range = [0; 11];
            range[1] = BYTES;
            let mut pointer = 0;
            check("cuExternalMemoryGetMappedBuffer", (cuda.map)(&mut pointer, memory, range.as_ptr()))?;

            let semaphores = match shared.semaphores {
                Some([ready, free]) => {
                    let import = |fd: c_int| semaphore(&cuda, shared.order, fd);
                    Some([import(ready.into_raw_fd())?, import(free.into_raw_fd())?])
                }
                None => None,
            };
            let mut stream = null_mut();
            check("cuStreamCreate", (cuda.stream)(&mut stream, NON_BLOCKING))?;
            let (order, host) = (shared.order, vec![0; WORDS]);
            Ok(Cuda { cuda, stream, memory, pointer, order, semaphores, host, _library: library })
        }
    }
}

impl Consumer for Cuda {
    fn read(&mut self, round: u32) -> Result<&[u32], String> {
        // The parameters of waits and signals both begin with the value of a timeline.
        let mut parameters = [0u64; 18];
        if self.order == Order::Timeline {
            parameters[0] = u64::from(round) + 1;
        }
        let Cuda { cuda, stream, host, .. } = self;
        // SAFETY: as in `import`; `host` has the bytes that are copied, and the stream has ended before it is read.
        unsafe {
            if let Some([ready, _]) = &self.semaphores {
                let waited = (cuda.wait)(ready, parameters.as_ptr(), 1, *stream);
                check("cuWaitExternalSemaphoresAsync", waited)?;
            }
            let copied = (cuda.copy)(host.as_mut_ptr(), self.pointer, BYTES as usize, *stream);
            check("cuMemcpyDtoHAsync", copied)?;
            if let Some([_, free]) = &self.semaphores {
                let signalled = (cuda.signal)(free, parameters.as_ptr(), 1, *stream);
                check("cuSignalExternalSemaphoresAsync", signalled)?;
            }
            check("cuStreamSynchronize", (cuda.synchronize)(*stream))?;
        }
        Ok(&self.host)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // SAFETY: all of it is CUDA's own, and the stream has ended. The context stays for the next import.
        unsafe {
            for semaphore in self.semaphores.iter().flatten() {
                (self.cuda.destroy_semaphore)(*semaphore);
            }
            (self.cuda.unmap)(self.pointer);
            (self.cuda.destroy_memory)(self.memory);
        }
    }
}

fn check(call: &str, result: c_int) -> Result<(), String> {
    if result == 0 { Ok(()) } else { Err(format!("{call} returns {result}")) }
}

/// Finds the CUDA device of an adapter.
unsafe fn by_uuid(cuda: &EntryPoints, uuid: [u8; 16]) -> Result<c_int, String> {
    let (mut count, mut seen) = (0, Vec::new());
    unsafe {
        check("cuDeviceGetCount", (cuda.count)(&mut count))?;
        for number in 0..count {
            let (mut device, mut id) = (0, [0; 16]);
            check("cuDeviceGet", (cuda.device)(&mut device, number))?;
            check("cuDeviceGetUuid", (cuda.uuid)(id.as_mut_ptr(), device))?;
            if id == uuid {
                return Ok(device);
            }
            seen.push(hex(&id));
        }
    }
    Err(format!("no CUDA device has the adapter's UUID {}; CUDA's devices have {seen:?}", hex(&uuid)))
}

/// Imports a semaphore, whose descriptor becomes CUDA's.
unsafe fn semaphore(cuda: &EntryPoints, order: Order, fd: c_int) -> Result<Handle, String> {
    // CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC: the type, a union of 16 bytes, the flags, reserved words.
    let mut description = [0; 12];
    let kind = if order == Order::Timeline { TIMELINE_FD } else { OPAQUE_FD };
    (description[0], description[1]) = (kind, fd as u64);
    let mut semaphore = null_mut();
    let imported = unsafe { (cuda.import_semaphore)(&mut semaphore, description.as_ptr()) };
    check("cuImportExternalSemaphore", imported).map(|()| semaphore)
}
