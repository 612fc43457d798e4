import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openDatabase } from "../../mod.ts";
import { findServiceFiles } from "../../src/cli/backup/backed_up_files.ts";
import { uninstallFromUrl } from "../../src/engines/uninstall_from.ts";
import { runChild, startChild } from "../serve/child_process.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { scratchFolder } from "../support/scratch.ts";

const cli = new URL("../../cli.ts", import.meta.url).pathname;

testOnPostgres(
  "workers and commands share a store in Postgres, and print no password of its URL",
  async (url) => {
    await using folder = await scratchFolder();
    const cwd = folder.path;
    const db = await openDatabase(`sqlite:${cwd}/shop.db`);
    await db.query({ text: "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)", values: [] });
    await db.close();
    const withPassword = new URL(url);
    withPassword.password = "not-to-be-seen";
    const kv = withPassword.href;
    const given = ["keys", "create", "--name", "ci", "--scopes", "writer", "--kv", kv];
    // Without the flag for Deno KV, which a store in Postgres does not need.
    const key = await runChild([cli, ...given], { cwd, env: { SERVICE_RUN_AGAIN_BY: "1" } });
    assertEquals(key.code, 0, key.stderr);
    {
      const options = ["--write", "--users", "--kv", kv, "--workers", "2", "--port", "0"];
      await using service = startChild([cli, "shop.db", ...options], { cwd });
      const [origin = ""] = await service.printed(/http:\/\/127\.0\.0\.1:\d+/);
      await service.printed(/users add EMAIL --kv postgres:\/\/…@/);
      for (let n = 0; n < 8; n++) {
        const response = await fetch(`${origin}/api/items`, {
          method: "POST",
          headers: {
            ...{ "content-type": "application/json", connection: "close" },
            "x-api-key": key.stdout.trim(),
          },
          body: JSON.stringify({ name: `item ${n}` }),
        });
        assertEquals(response.status, 201, await response.text());
      }
      assert(!(service.stdout() + service.stderr()).includes("not-to-be-seen"));
    }
    const { kv: copied, notices } = await findServiceFiles({
      ...{ database: `${cwd}/shop.db`, kv, config: null },
    });
    assertEquals(copied, null);
    assertStringIncludes(notices.join(), "postgres://…@");
    assertStringIncludes(notices.join(), "is a server: back it up by its own means");
    const removed: string[] = [];
    await uninstallFromUrl(url, (parts) => removed.push(...parts.map(({ name }) => name)));
    assertEquals(removed.map((name) => name.replace(/\(.*/, "")), [
      "_service_kv_commit",
      "_service_kv",
    ]);
  },
);
