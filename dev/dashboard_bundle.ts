/**
 * Bundles the dashboard's script and style sheet into the module that serves them. A test of the
 * repository fails if the module is outdated.
 *
 * deno task dashboard-bundle
 */
import { build, type Plugin, stop } from "esbuild";
import { gzipSync } from "node:zlib";

const root = new URL("../", import.meta.url).pathname;

/** Returns the minified files of the dashboard, by name. */
export async function bundleDashboard(): Promise<ReadonlyMap<string, string>> {
  const common = { absWorkingDir: root, bundle: true, minify: true, write: false } as const;
  const script = await build({
    ...{ ...common, entryPoints: ["dashboard/main.tsx"], legalComments: "none" },
    ...{ format: "esm", target: "es2022", platform: "browser" },
    ...{ jsx: "automatic", jsxImportSource: "preact" },
    plugins: [await preact(), withoutSolver],
  });
  const style = await build({
    ...{ ...common, entryPoints: ["dashboard/main.css"], target: "chrome123" },
  });
  await stop();
  return new Map([["app.js", textOf(script)], ["app.css", textOf(style)]]);
}

function textOf({ outputFiles = [] }: { outputFiles?: { readonly text: string }[] }): string {
  return outputFiles.map(({ text }) => text).join("");
}

/** Finds the modules of Preact in Deno's cache. */
async function preact(): Promise<Plugin> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "npm:preact@^10.27.0"],
    cwd: root,
  });
  const { stdout } = await command.output();
  const { npmPackages }: { npmPackages: Record<string, NpmPackage> } = JSON.parse(
    new TextDecoder().decode(stdout),
  );
  const found = Object.values(npmPackages).find(({ name }) => name === "preact");
  if (found === undefined) throw new Error("Cannot find preact: deno info does not name it");
  const modules: Readonly<Record<string, string>> = {
    "preact": "dist/preact.module.js",
    "preact/hooks": "hooks/dist/hooks.module.js",
    "preact/jsx-runtime": "jsx-runtime/dist/jsxRuntime.module.js",
  };
  return {
    name: "preact",
    setup: (build) =>
      build.onResolve(
        { filter: /^preact(\/|$)/ },
        ({ path }) => ({ path: `${found.localPath}/${modules[path]}` }),
      ),
  };
}

interface NpmPackage {
  readonly name: string;
  readonly localPath: string;
}

/** The operator never has to solve a proof of work. */
const withoutSolver: Plugin = {
  name: "solver",
  setup(build) {
    build.onResolve(
      { filter: /\/challenge\.ts$/ },
      () => ({ path: "challenge", namespace: "none" }),
    );
    build.onLoad({ filter: /.*/, namespace: "none" }, () => ({
      contents: "export const solveChallenge = ({ error }) => { throw error; };",
    }));
  },
};

if (import.meta.main) {
  const files = [...await bundleDashboard()].map(([name, text]) => {
    const gzip = gzipSync(text, { level: 9 });
    console.log(`${name}: ${gzip.length} bytes`);
    return `  "${name}": "${gzip.toString("base64")}",\n`;
  });
  await Deno.mkdir(`${root}src/service/dashboard`, { recursive: true });
  await Deno.writeTextFile(
    `${root}src/service/dashboard/bundled_dashboard.ts`,
    `// Written by \`deno task dashboard-bundle\` from dashboard/main.tsx.

/** The files of the dashboard: gzip in base64, by their paths. */
export const bundledDashboard: Readonly<Record<string, string>> = {
${files.join("")}};
`,
  );
}
