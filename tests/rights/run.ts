import type { Service } from "../support/http.ts";
import { Matrix, Report } from "./matrix.ts";
import { nestedWrite } from "./nested.ts";
import { Streams } from "./streams.ts";
import { flatWrite } from "./writes.ts";
import type { Work } from "./world.ts";

/** The options of a run. */
export interface RunOptions {
  readonly service: Service;
  readonly works: Map<string, Work>;
  /** The first seed; each world has the next one. */
  readonly seed: number;
  /** The number of requests. */
  readonly requests: number;
  /** The number of requests in each world. */
  readonly perWorld?: number;
  /** Streams are open in one of this number of worlds, and in no world with 0. */
  readonly streamsIn?: number;
  /** The timeout of a quiet point, which is only reached after a fault. */
  readonly timeoutMs?: number;
  readonly report?: Report;
  readonly onWorld?: (report: Report) => boolean;
}

/** Sends random requests to random worlds, with and without streams, and returns all faults. */
export async function runMatrix(options: RunOptions): Promise<Report> {
  const { service, works, seed, requests, perWorld = 400, streamsIn = 12 } = options;
  const { timeoutMs = 60_000, report = new Report(), onWorld } = options;
  const matrix = new Matrix(service, works, report);
  try {
    for (let world = seed; report.requests < requests; world++) {
      await matrix.begin(world);
      const until = Math.min(requests, report.requests + perWorld);
      if (streamsIn > 0 && (world - seed) % streamsIn === 0) {
        await withStreams(matrix, service, until, timeoutMs);
      } else {
        while (report.requests < until) await step(matrix);
      }
      if (onWorld?.(report) === false) break;
    }
  } finally {
    await matrix.doors.close();
  }
  return report;
}

async function step(matrix: Matrix): Promise<void> {
  const { dice } = matrix;
  const kind = dice.below(10);
  if (kind < 4) await matrix.read();
  else if (kind < 5) await matrix.walk();
  else if (kind < 8) await matrix.write(flatWrite);
  else if (kind < 9) await matrix.write(nestedWrite);
  else await matrix.turn();
}

/** Changes rows and rights while streams are open, and compares the streams with the lists. */
async function withStreams(matrix: Matrix, service: Service, until: number, timeoutMs: number) {
  const { dice, report } = matrix;
  const streams = new Streams(service);
  try {
    await streams.open(matrix.known);
    while (report.requests < until) {
      for (let left = 1 + dice.below(4); left > 0; left--) {
        if (dice.once(2)) await matrix.turn();
        else await matrix.write(dice.once(3) ? nestedWrite : flatWrite);
        streams.saw(matrix.known);
      }
      const wrong = await streams.quiet(matrix.known, timeoutMs);
      report.quietPoints += streams.count;
      for (const what of wrong) matrix.noteStream("wrong rows", what);
      for (const what of streams.leaks.splice(0)) matrix.noteStream("leak", what);
      if (wrong.length > 0) return;
    }
  } finally {
    await streams.close();
  }
}

/** Returns the counts of a report as text. */
export function tableOf(report: Report): string {
  const lines = [...report.cells].toSorted(([left], [right]) => left < right ? -1 : 1)
    .map(([name, { allowed, refused, leaks, falseRefusals, wrong }]) => {
      const [operation = "", door = ""] = name.split(" ");
      const figures = [allowed, refused, leaks, falseRefusals, wrong];
      return operation.padEnd(14) + door.padEnd(11) +
        figures.map((figure) => String(figure).padStart(9)).join("");
    });
  const head = ["allowed", "refused", "leaks", "f.refus.", "wrong"];
  return [
    `${"operation".padEnd(14)}${"door".padEnd(11)}${head.map((one) => one.padStart(9)).join("")}`,
    ...lines,
  ].join("\n");
}
