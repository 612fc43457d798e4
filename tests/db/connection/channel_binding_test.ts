import { assertEquals } from "@std/assert";
import { root } from "../../repository/module_graph.ts";
import { findProgram } from "../../support/debian_packages.ts";
import { testPostgres, testUnless } from "../../support/skip.ts";
import { startTlsPostgres } from "../../support/tls_postgres.ts";

const postgres = testPostgres();
const missing = "missing" in postgres
  ? postgres.missing
  : await findProgram(["openssl"]) === null
  ? "there is no openssl"
  : null;

/** Opens the database of its argument, and prints a part of the state of the session. */
const program = `
import { openPostgres } from "${root}exports/postgres.ts";
const driver = await openPostgres(Deno.args[0]);
const text = "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
console.log((await driver.query({ text, values: [] })).rows.join());
await driver.close();
`;

testUnless(missing, "channel_binding=require accepts an authority of the system", async () => {
  await using server = await startTlsPostgres();
  const file = `${server.folder}/program.ts`;
  await Deno.writeTextFile(file, program);
  const at = `postgres@127.0.0.1:${server.port}/postgres`;
  const output = async (url: string, env: Readonly<Record<string, string>>) => {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", `--config=${root}deno.json`, file, url],
      env,
      stderr: "null",
    }).output();
    return new TextDecoder().decode(stdout).trim();
  };
  const url = `postgres://${at}?sslmode=require&channel_binding=require`;
  assertEquals(await output(url, { DENO_CERT: `${server.folder}/ca.pem` }), "TLSv1.3");
  assertEquals(await output(url, { DENO_CERT: `${server.folder}/other.pem` }), "");
  assertEquals(await output(`postgres://${at}?sslmode=require`, {}), "TLSv1.3");
});
