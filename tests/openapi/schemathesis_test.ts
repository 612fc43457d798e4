import { assert, assertMatch } from "@std/assert";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { checkBySchemathesis, findSchemathesis } from "./schemathesis.ts";

const found = await findSchemathesis();

testUnless(
  "missing" in found ? found.missing : null,
  "Schemathesis finds no undocumented answer of the demonstration",
  async () => {
    if ("missing" in found) return;
    await using folder = await scratchFolder();
    const { success, printed } = await checkBySchemathesis({
      ...{ program: found.program, folder: folder.path },
      ...{ service: [], examples: "1", seed: "1" },
    });
    assert(success, printed);
    assertMatch(printed, /[1-9]\d* generated, [1-9]\d* passed/);
  },
);
