import { assertEquals } from "@std/assert";
import { keywords, variableOf } from "../../../src/engines/postgres/connection/keywords.ts";

Deno.test("every parameter of a connection and its variable are documented", async () => {
  const page = new URL("../../../docs/configuration/postgres.md", import.meta.url);
  const text = await Deno.readTextFile(page);
  const documented = ["PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD"]
    .concat(
      [
        "PGPASSFILE",
        "PGREQUIREAUTH",
        "PGCHANNELBINDING",
        "PGSERVICE",
        "PGSERVICEFILE",
        "PGOPTIONS",
      ],
      ["PGAPPNAME", "PGSSLMODE", "PGREQUIRESSL", "PGSSLCOMPRESSION", "PGSSLCERT", "PGSSLKEY"],
      ["PGSSLCERTMODE", "PGSSLROOTCERT", "PGSSLCRL", "PGSSLCRLDIR", "PGSSLSNI", "PGREQUIREPEER"],
      ["PGSSLMINPROTOCOLVERSION", "PGSSLMAXPROTOCOLVERSION", "PGGSSENCMODE", "PGCONNECT_TIMEOUT"],
      ["PGTARGETSESSIONATTRS", "PGLOADBALANCEHOSTS", "PGSSLNEGOTIATION"],
    );
  const read = Object.keys(keywords).map(variableOf);
  // PGREQUIRESSL is another name of sslmode=require.
  assertEquals(documented.filter((name) => !read.includes(name)), ["PGREQUIRESSL"]);
  const names = [...Object.keys(keywords), ...documented];
  const isDocumented = (name: string) =>
    text.includes(`\`${name}\``) || text.includes(`\`${name}=`);
  assertEquals(names.filter((name) => !isDocumented(name)), []);
});
