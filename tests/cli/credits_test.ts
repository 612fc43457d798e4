import { assert, assertEquals } from "@std/assert";
import { parseArguments } from "../../src/cli/arguments.ts";
import { runChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";

const cli = new URL("../../cli.ts", import.meta.url).pathname;

Deno.test("credits are granted, consumed, reversed and audited at the command line", async () => {
  await using folder = await scratchFolder();
  const credits = async (...args: string[]) => {
    const { code, stdout, stderr } = await runChild([cli, "credits", ...args, "--kv", "a.kv"], {
      cwd: folder.path,
    });
    return [code, (stdout + stderr).trim()] as const;
  };
  const [code, message] = await credits("balance", "ada");
  assertEquals([code, message.includes("no such file")], [2, true], message);
  assertEquals(await credits("grant", "ada", "50", "--key", "welcome"), [0, "50"]);
  const [, again] = await credits("grant", "ada", "50", "--key", "welcome");
  assert(again.startsWith("50 (done before"), again);
  assertEquals(await credits("consume", "ada", "51"), [1, "refused: the balance is 50"]);
  assertEquals(await credits("consume", "ada", "60", "--allow-negative"), [0, "-10"]);
  assertEquals(await credits("reverse", "welcome", "--amount", "5"), [0, "-15"]);
  // Each is an operation of its own, unless a key says that it is the same.
  assertEquals(await credits("reverse", "welcome", "--amount", "5"), [0, "-20"]);
  const refund = ["reverse", "welcome", "--amount", "5", "--key", "re_1"];
  assertEquals(await credits(...refund), [0, "-25"]);
  const [, repeated] = await credits(...refund);
  assert(repeated.startsWith("-25 (done before"), repeated);
  const [, history] = await credits("history", "ada", "--json");
  assertEquals(
    history.split("\n").map((line) => JSON.parse(line).kind),
    ["reverse", "reverse", "reverse", "consume", "grant"],
  );
  assertEquals(await credits("audit"), [0, "ada: -25, 5 entries, right"]);
});

Deno.test("mistakes in the arguments of credits are named", () => {
  const mistakes: readonly (readonly [string, string])[] = [
    ["credits", "credits takes balance, history, grant"],
    ["credits grnt ada 5", 'not "grnt"'],
    ["credits grant ada", "needs an amount"],
    ["credits grant", "needs an account"],
    ...["-5", "0", "1.5", "1e3", "NaN", "9007199254740992"].map((amount) =>
      [`credits grant ada ${amount}`, amount === "-5" ? "-5" : "whole number"] as const
    ),
    ["credits grant ada 5 6", 'takes no "6"'],
    ["credits grant ada 5 --reson x", "did you mean --reason?"],
    ["credits balance ada --key x", "has no option --key"],
    ["credits history ada --count 0", "whole number"],
    ["credits reverse", "needs the key of a grant"],
  ];
  for (const [line, expected] of mistakes) {
    const command = parseArguments(line.split(" "));
    assert(command.kind === "misused", line);
    assert(command.message.includes(expected), `${line}: ${command.message}`);
  }
});

Deno.test("credits and the search outbox send no token to an http:// URL of another machine", async () => {
  const url = "http://192.0.2.2:18778";
  for (const command of ["credits grant ada 5", "search outbox stats"]) {
    const { code, stderr } = await runChild([cli, ...command.split(" "), "--kv", url]);
    const reason = "kv takes http:// on this machine alone: use https://";
    assertEquals([code, stderr.trim()], [2, `Cannot open the key-value store: ${reason}`], command);
  }
});
