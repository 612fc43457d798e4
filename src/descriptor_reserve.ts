/**
 * File descriptors that are held so that they can be let go when the process has run out of them,
 * which any client can cause by connections that stay open.
 */
export interface DescriptorReserve {
  /** How many it holds when it is full; 0 where the process cannot hold any. */
  readonly size: number;
  /** Closes them: as many can be opened now. */
  release(): void;
  /** Takes them again, if as many more are free; gives whether they are held. */
  take(): boolean;
}

/** Holds a few descriptors, or none where the process may not open the null device. */
export function holdDescriptors(): DescriptorReserve {
  if (!mayOpen()) return noReserve;
  let held: Deno.FsFile[] = [];
  // A process with a low limit keeps fewer.
  const size = sizes.find((count) => {
    held = openMany(2 * count) ?? [];
    return held.length > 0;
  });
  if (size === undefined) return noReserve;
  closeAll(held.splice(size));
  return {
    size,
    release() {
      closeAll(held);
      held = [];
    },
    take() {
      if (held.length > 0) return true;
      held = openMany(2 * size) ?? [];
      closeAll(held.splice(size));
      return held.length > 0;
    },
  };
}

const sizes: readonly number[] = [128, 64, 32, 16, 8];

const noReserve: DescriptorReserve = { size: 0, release() {}, take: () => true };

const nullDevice = "/dev/null";

/** Asked for, because an attempt would ask the person at the terminal. */
function mayOpen(): boolean {
  if (Deno.build.os === "windows") return false;
  return Deno.permissions.querySync({ name: "read", path: nullDevice }).state === "granted";
}

/** Null, with nothing open, where the process runs out of descriptors before. */
function openMany(count: number): Deno.FsFile[] | null {
  const opened: Deno.FsFile[] = [];
  try {
    while (opened.length < count) opened.push(Deno.openSync(nullDevice));
    return opened;
  } catch {
    // Whatever the reason, there are not so many to be had; what has been opened is given back.
    closeAll(opened);
    return null;
  }
}

function closeAll(files: readonly Deno.FsFile[]): void {
  for (const file of files) file.close();
}
