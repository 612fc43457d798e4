import type { LeftOutSocket } from "./worker_process.ts";

/**
 * Makes the kernel distribute the new connections of a shared port (`SO_REUSEPORT`) by a filter
 * program (`SO_ATTACH_REUSEPORT_CBPF`, socket(7)). The socket `leftOut` then receives none, so that
 * its queue empties: closing it earlier would reset the connections in the queue. Null excludes no
 * socket. The index in `leftOut` counts the sockets in the order in which they began to listen.
 * When a socket closes, the last socket gets its index.
 */
export function filterPort(port: number, leftOut: LeftOutSocket | null): void {
  attach(listenerOf(port), leftOut === null ? byHash : allBut(leftOut));
}

function attach(descriptor: number, program: BpfProgram): void {
  const code = encode(program);
  // The C structure `sock_fprog`: number of instructions, and address of the first.
  const option = new DataView(new ArrayBuffer(16));
  option.setUint16(0, program.length, true);
  option.setBigUint64(8, BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(code))), true);
  const libc = Deno.dlopen("libc.so.6", {
    setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  });
  const { buffer, byteLength } = option;
  const result = libc.symbols.setsockopt(descriptor, solSocket, attachProgram, buffer, byteLength);
  libc.close();
  if (result !== 0) throw new Error("the kernel refuses to filter the connections of the port");
}

/** `SOL_SOCKET` and `SO_ATTACH_REUSEPORT_CBPF`, equal on all processors that Deno supports. */
const [solSocket, attachProgram] = [1, 51];

/** Instructions of classic BPF: code, jump if true, jump if false, operand. */
type BpfProgram = readonly (readonly [code: number, then: number, otherwise: number, k: number])[];

/** Returns an index that no socket has. The kernel then chooses by a hash of the addresses. */
const byHash: BpfProgram = [[0x06, 0, 0, 0xffff_ffff]];

function allBut({ without: index, of }: LeftOutSocket): BpfProgram {
  const [last, random] = [of - 1, 0xffff_f038];
  return [
    [0x20, 0, 0, random], // load a random number (SKF_AD_RANDOM)
    [0x94, 0, 0, last], // reduce the number modulo the operand
    [0x15, 0, 1, index], // compare with the operand
    [0x06, 0, 0, last], // return the operand
    [0x16, 0, 0, 0], // return the loaded number
  ];
}

function encode(program: BpfProgram): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(program.length * 8));
  program.forEach(([code, then, otherwise, k], index) => {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, then);
    view.setUint8(index * 8 + 3, otherwise);
    view.setUint32(index * 8 + 4, k, true);
  });
  return new Uint8Array(view.buffer);
}

function listenerOf(port: number): number {
  const sockets = new Set(["tcp", "tcp6"].flatMap((family) => listenersOn(port, family)));
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    if (sockets.has(linkOf(`/proc/self/fd/${name}`))) return Number(name);
  }
  throw new Error(`this process does not listen on port ${port}`);
}

/** Returns the sockets that listen at a port, in the form of links in `/proc/self/fd` (proc(5)). */
function listenersOn(port: number, family: string): readonly string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return readIfThere(`/proc/self/net/${family}`).split("\n").flatMap((line) => {
    const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
    return state === listening && local.endsWith(`:${hex}`) ? [`socket:[${inode}]`] : [];
  });
}

/** The kernel's number for the socket state `TCP_LISTEN`. */
const listening = "0A";

/** Reads a file. Returns "" if the file is missing because the kernel lacks the address family. */
function readIfThere(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

function linkOf(path: string): string {
  try {
    return Deno.readLinkSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
