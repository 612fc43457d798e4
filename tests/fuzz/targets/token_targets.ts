import { assert, assertEquals } from "@std/assert";
import { isToken } from "../../../src/identity/opaque_token.ts";
import { createChallengeTokens } from "../../../src/guard/pow/challenge_token.ts";
import { parseLogPosition, printLogPosition } from "../../../src/db/changes/log_position.ts";
import { openCursor, sealCursor } from "../../../src/plan/cursor.ts";
import { createSealer } from "../../../src/runtime/sealer.ts";
import { parseResumeToken } from "../../../src/live/stream/resume_token.ts";
import type { SqlValue } from "../../../src/sql/fragment.ts";
import { openLink } from "../../../src/resource/http/download_link.ts";
import { tableOf } from "../../filter/support.ts";
import type { FuzzTarget } from "../engine/fuzz_target.ts";
import { isProblem } from "./documented.ts";

let sealed = 0;
/** A source of bytes that are different, and equal in each run. */
const random = {
  bytes: (length: number) => Uint8Array.from({ length }, () => (sealed += 167) & 255),
} as Parameters<typeof createSealer>[1];
const sealer = createSealer(["a secret of more than thirty-two characters"], random);

const table = tableOf({ id: "integer", name: "text" });
const list = {
  resource: "things",
  order: table.columns.map((column) => ({ column, descending: false })),
  sealer,
};
const genuine = sealCursor([1, "a"], list, null);

/** Cursors. Only a cursor that the service has sealed is opened, and it has its values. */
export const cursorTarget: FuzzTarget = {
  files: ["src/plan/cursor.ts", "src/runtime/sealer.ts"],
  seeds: [
    genuine,
    `${genuine}A`,
    genuine.slice(1),
    "",
    "x",
    "NaN",
    "9007199254740993",
    "é\ud800\0",
  ],
  parse: (input) => openCursor(input, list),
  isDocumented: isProblem("cursor-invalid"),
  check(result, input) {
    assertEquals([input, result], [genuine, { kind: "values", values: [1, "a"] }]);
  },
};

/** Positions in cursors. Values of rows that are sealed in a cursor are opened again. */
export const positionTarget: FuzzTarget = {
  files: ["src/plan/cursor.ts"],
  seeds: [
    "",
    "a",
    '{"int":"1"}',
    "12345678901234567890",
    "1e999",
    "\ud800",
    "\0",
    "x".repeat(4_000),
  ],
  parse: (input) => sealCursor(valuesOf(input), list, null),
  isDocumented: isProblem("cursor-invalid", "query-too-expensive"),
  check(result, input) {
    const opened = openCursor(String(result), list);
    if (opened.kind === "values") {
      assertEquals(opened.values, valuesOf(input), input);
    } else assert(opened.kind === "row", input);
  },
};

function valuesOf(input: string): readonly SqlValue[] {
  const integer = /^-?\d{1,18}$/.test(input) ? BigInt(input) : null;
  return [integer ?? Number(input), input];
}

const challenges = createChallengeTokens(["a secret of more than thirty-two characters"]);

/** Tokens that have a form of their own, and links with a token. */
export const tokenTarget: FuzzTarget = {
  files: [
    "src/db/changes/log_position.ts",
    "src/live/stream/resume_token.ts",
    "src/identity/opaque_token.ts",
    "src/guard/pow/challenge_token.ts",
    "src/protocol/byte_text.ts",
  ],
  seeds: [
    "s.0123456789abcdef.12.3k~aaaaaaaabbbbbbbb",
    "p.0123456789abcdef.5.9.1-2",
    "p.0123456789abcdef.1.1y2p0ij32e8e7",
    `ses_${"a".repeat(43)}`,
    `${"A".repeat(54)}.${"A".repeat(43)}`,
    challenges.seal(
      { difficulty: 3, expiresAtMs: 5, fingerprint: new Uint8Array(16) },
      new Uint8Array(16),
    ),
  ],
  parse: (input) => ({
    position: parseLogPosition(input),
    resume: parseResumeToken(input),
    isToken: isToken(input, "ses_"),
    challenge: challenges.open(input),
  }),
  isDocumented: () => false,
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const { position } = result as { position: ReturnType<typeof parseLogPosition> };
    if (position !== null) assertEquals(printLogPosition(position), input);
  },
};

/** Download links. A link that was not created is a 401. */
export const linkTarget: FuzzTarget = {
  files: ["src/resource/http/download_link.ts"],
  seeds: ["a=1&downloadToken=x", "&downloadToken=", "link=1&downloadToken=a&downloadToken=b"],
  parse: (input) => {
    const request = { method: "GET", url: `http://x/things?${input}`, headers: new Headers() };
    return openLink(request as Request, { sealer, clock: { now: () => 1 } });
  },
  isDocumented: isProblem("unauthorized"),
  check(_, input) {
    throw new Error(`A link was accepted: ${input}`);
  },
};
