import { assertEquals, assertMatch } from "@std/assert";
import { Problem } from "../../src/problem/problem.ts";
import { problemReply } from "../../src/problem/problem_reply.ts";
import { readTarget } from "../../src/service/target.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { powBench } from "./pow_support.ts";

const missing = ["sh", "curl", "openssl", "awk"].find((program) => !isThere(program));
const reason = missing === undefined ? null : `${missing} is not installed`;

testUnless(reason, "the shell script of docs/proof-of-work.md solves a challenge", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/solve.sh`;
  await Deno.writeTextFile(path, scriptOfTheDocument());
  const statuses: number[] = [];
  await using server = Deno.serve({ port: 0, onListen() {} }, async (request) => {
    const response = await guarded(request);
    statuses.push(response.status);
    return response;
  });
  const { stdout, stderr } = await new Deno.Command("sh", {
    args: [path, `http://localhost:${server.addr.port}/api/notes?limit=1`],
  }).output();
  assertEquals(new TextDecoder().decode(stdout), "served", new TextDecoder().decode(stderr));
  assertEquals(statuses, [428, 200]);
});

const pow = powBench();

async function guarded(request: Request): Promise<Response> {
  const facts = {
    ...readTarget(request.url),
    method: request.method,
    body: new Uint8Array(await request.arrayBuffer()),
    userId: null,
  };
  try {
    await pow.requireSolution(request.headers, facts, 6);
    return new Response("served");
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { body, ...rest } = problemReply(error);
    return new Response(body, rest);
  }
}

function scriptOfTheDocument(): string {
  const document = Deno.readTextFileSync(
    new URL("../../docs/proof-of-work.md", import.meta.url),
  );
  const [, script = ""] = /^```sh\n(.*?)^```$/ms.exec(document) ?? [];
  assertMatch(script, /openssl/);
  return script;
}

function isThere(program: string): boolean {
  return new Deno.Command("sh", {
    args: ["-c", `command -v ${program}`],
    stdout: "null",
    stderr: "null",
  }).outputSync().success;
}
