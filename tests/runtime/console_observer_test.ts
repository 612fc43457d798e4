import { assert, assertEquals, assertMatch } from "@std/assert";
import { DatabaseError } from "../../src/db/database_error.ts";
import { Problem } from "../../src/problem/problem.ts";
import { consoleObserver } from "../../src/runtime/console_observer.ts";
import type { Observation } from "../../src/runtime/runtime.ts";

function lines(format: "text" | "json", ...observations: readonly Observation[]): string[] {
  const written: string[] = [];
  const observe = consoleObserver({ format, write: (line) => written.push(line), now: () => 0 });
  observations.forEach(observe);
  return written;
}

Deno.test("the text format is one line with its level", () => {
  assertEquals(
    lines("text", { kind: "table_left_out", table: "logs", reason: "it has no primary key" }),
    ["info: the table logs is left out: it has no primary key"],
  );
});

Deno.test("the JSON format is one object a line", () => {
  const [line = ""] = lines("json", { kind: "notice", message: "two\nlines" });
  assertEquals(JSON.parse(line), {
    time: "1970-01-01T00:00:00.000Z",
    level: "info",
    event: "notice",
    message: "two\nlines",
  });
  assert(!line.includes("\n"));
});

Deno.test("a worker has its number in every line", () => {
  const written: string[] = [];
  const write = (line: string) => void written.push(line);
  for (const format of ["text", "json"] as const) {
    consoleObserver({ format, write, worker: 2 })({ kind: "draining" });
  }
  const [text, json = ""] = written;
  assertEquals(text, "info: worker 2: stopping: requests in flight are finished first");
  assertEquals(JSON.parse(json).worker, 2);
});

Deno.test("an error comes with its stack and its cause", () => {
  const error = new Error("outer", { cause: new TypeError("inner") });
  for (const format of ["text", "json"] as const) {
    const [line = ""] = lines(format, { kind: "unhandled_rejection", error });
    assertMatch(line, /Error: outer/);
    assertMatch(line, /TypeError: inner/);
    assertMatch(line, /console_observer_test/);
  }
});

Deno.test("each refusal of an overloaded service came with the stacks of its causes", () => {
  const cause = new DatabaseError("overloaded", new Error("too many wait already"));
  const error = new Problem("overloaded", "Cannot read", { cause });
  const failed = { kind: "request_failed", method: "GET", path: "/api/notes", error } as const;
  const [json = ""] = lines("json", failed);
  assertMatch(JSON.parse(json).error, /because .*too many wait already/);
  assertEquals(JSON.parse(json).stack, undefined);
});

Deno.test("the line of an error says why, cause by cause", () => {
  const cause = new DatabaseError("other", new Error("no such table: gone"));
  const error = new Error("Cannot read", { cause });
  const reasons = "Error: Cannot read, because DatabaseError: The database answered: other, " +
    "because Error: no such table: gone";
  const failed = { kind: "request_failed", method: "GET", path: "/api/gone", error } as const;
  const [text = ""] = lines("text", failed);
  assertEquals(text.split("\n")[0], `error: GET /api/gone failed: ${reasons}`);
  const [json = ""] = lines("json", failed);
  assertEquals(JSON.parse(json).error, reasons);
});

Deno.test("a line repeated the reason of an error whose cause has the same message", () => {
  const cause = new TypeError("the disk is full");
  const error = new Error("Cannot write: the disk is full", { cause });
  const [text = ""] = lines("text", { kind: "unhandled_rejection", error });
  assertMatch(text.split("\n")[0] ?? "", /handled: Error: Cannot write: the disk is full$/);
});

Deno.test("a failed login was the event of an account with the name unknown", () => {
  const event = { kind: "account_event", event: "login-failed", address: "127.0.0.1" } as const;
  const texts = [null, "a1"].map((user) => lines("text", { ...event, user })[0]);
  assertEquals(texts, [
    "info: a failed login without an account, from 127.0.0.1",
    "info: a failed login of the account a1, from 127.0.0.1",
  ]);
});

Deno.test("an error that is its own cause is observed", () => {
  const error = new Error("round and round");
  error.cause = error;
  assertEquals(lines("text", { kind: "unhandled_rejection", error }).length, 1);
});

Deno.test("any thrown value can be observed", () => {
  const circular: Record<string, unknown> = { big: 1n };
  circular["self"] = circular;
  for (const error of [undefined, null, 1n, "text", Symbol("s"), circular, Object.create(null)]) {
    for (const format of ["text", "json"] as const) {
      assertEquals(lines(format, { kind: "unhandled_rejection", error }).length, 1);
    }
  }
});

Deno.test("control characters in a path do not reach the terminal", () => {
  const [line = ""] = lines("text", {
    kind: "request_failed",
    method: "GET",
    path: "/\u001b[2J\r\nerror: forged\u009b",
    error: new Error("\u001b[31mred"),
  });
  assertEquals(
    line.split("\n")[0],
    "error: GET /\\u001b[2J\\u000d\\u000aerror: forged\\u009b failed: Error: \\u001b[31mred",
  );
  assert(!line.includes("\u001b"));
});
