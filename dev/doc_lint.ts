/**
 * `deno doc --lint` of the files in the arguments, but for public types that refer to types of Hono:
 * those are public in their own package, which the lint takes for private.
 */
const honoTypes: ReadonlySet<string> = new Set(["Context", "Hono", "Next"]);

const { stderr } = await new Deno.Command(Deno.execPath(), {
  args: ["doc", "--lint", ...Deno.args],
  env: { NO_COLOR: "1" },
  stdout: "null",
}).output();
const findings = new TextDecoder().decode(stderr).split(/^(?=error)/m)
  .filter((part) => part.startsWith("error") && !part.startsWith("error: Found"));
const faults = findings.filter((finding) => {
  const [, name = ""] = /^error\[private-type-ref\]:.* private type '(\w+)'/.exec(finding) ?? [];
  return !honoTypes.has(name);
});
if (faults.length > 0) {
  console.error(faults.join(""));
  Deno.exit(1);
}
