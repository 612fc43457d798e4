/**
 * Runs `deno doc --lint` for every export, without its errors about types of other packages: `deno
 * doc` follows such types into their packages and then requires comments there.
 */

/** Types of packages that public types refer to, by package. */
const packageTypes: ReadonlyMap<string, readonly string[]> = new Map([
  ["@hono/hono", ["Context", "Hono", "Next"]],
  ["solid-js", ["Accessor"]],
  ["vue", ["ShallowRef"]],
  ["@tanstack/db", ["CollectionConfig"]],
  // Types of browsers, declared in src/api/web_platform.ts. Some runtimes do not declare them.
  ["the web platform", ["IndexedDbFactory", "WebLocks"]],
]);

const root = new URL("..", import.meta.url).pathname;
const { exports } = JSON.parse(Deno.readTextFileSync(`${root}deno.json`));
const { stderr } = new Deno.Command(Deno.execPath(), {
  args: ["doc", "--lint", ...Object.values<string>(exports)],
  cwd: root,
  env: { NO_COLOR: "1" },
  stdout: "null",
}).outputSync();
const report = new TextDecoder().decode(stderr);
// Every error begins with `error[code]: `. The last block is the total or another failure.
const [, ...errors] = report.split(/^(?=error\[)/m);
const excused = [...packageTypes.values()].flat();
const remaining = errors.filter((error) => !excused.some((name) => refersTo(error, name)));
const isLint = errors.length > 0 || report.trim() === "" || report.startsWith("Checked ");

if (remaining.length > 0 || !isLint) {
  console.error(remaining.length > 0 ? remaining.join("") : report);
  Deno.exit(1);
}

function refersTo(error: string, name: string): boolean {
  const [title = ""] = error.split("\n", 1);
  return title.startsWith("error[private-type-ref]") &&
    title.endsWith(`references private type '${name}'`);
}
