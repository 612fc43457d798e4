import { exists } from "../support/debian_packages.ts";

const library = `/usr/lib/${Deno.build.arch}-linux-gnu/faketime/libfaketimeMT.so.1`;

/** Why the clock of a process cannot be moved. */
export const missingClock: string | null = await exists(library)
  ? null
  : "no libfaketime: install the package faketime";

/** The wall clock of a process, which jumps while the process runs. */
export class MovableClock {
  readonly #path: string;

  constructor(folder: string) {
    this.#path = `${folder}/clock`;
    this.move(0);
  }

  /** The environment of the process. */
  get env(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: this.#path,
      FAKETIME_CACHE_DURATION: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
  }

  /** Moves the clock to a time in relation to the clock of the machine. Takes effect in a second. */
  move(seconds: number): void {
    Deno.writeTextFileSync(this.#path, `${seconds < 0 ? "" : "+"}${seconds}`);
  }
}
