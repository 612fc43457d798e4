/**
 * Writes the SIMD module of the solver, and bundles the client as a script for pages without a build
 * step, into the module that serves it. A test of the repository fails if a module is outdated.
 *
 * deno task client-bundle
 */
import { build, type Plugin, stop } from "esbuild";
import { gzipSync } from "node:zlib";
import { preferredWord } from "../src/client/pow/nonce_range.ts";
import { buildSimdModule } from "./simd/build_simd_module.ts";

const root = new URL("../", import.meta.url);

/** The module with the generated files. */
export const bundleModule = new URL("src/service/client/bundled_client.ts", root);

/** Returns the minified files of the client, by their paths below `/__service/`. */
export async function bundleClient(): Promise<ReadonlyMap<string, string>> {
  const client = await bundle("exports/client.ts", [loading("./client/")]);
  const describedFilter = await bundle("src/filter/match/described_filter.ts", []);
  const findNonce = await bundle("src/client/pow/find_nonce.ts", []);
  const linkPage = await bundle("dashboard/links/link_page.ts", [loading("./")]);
  await stop();
  return new Map([
    ["client.js", client],
    ["client/described_filter.js", describedFilter],
    ["client/find_nonce.js", findNonce],
    ["client/link_page.js", linkPage],
  ]);
}

/** Loads large parts from the files of a folder when the client needs the parts. */
function loading(folder: string): Plugin {
  return {
    name: "parts",
    setup(build) {
      build.onResolve({ filter: /\/(find_nonce|described_filter)\.ts$/ }, ({ path }) => ({
        path: folder + path.replace(/^.*\/|ts$/g, "") + "js",
        external: true,
      }));
    },
  };
}

async function bundle(entry: string, plugins: Plugin[]): Promise<string> {
  const { outputFiles } = await build({
    ...{ absWorkingDir: root.pathname, entryPoints: [entry], plugins },
    ...{ bundle: true, minify: true, write: false, legalComments: "none" },
    ...{ format: "esm", target: "es2022", platform: "browser" },
  });
  return outputFiles.map(({ text }) => text).join("");
}

function compressed(content: string | Uint8Array): string {
  return gzipSync(content, { level: 9 }).toString("base64");
}

if (import.meta.main) {
  await Deno.writeTextFile(
    new URL("src/client/pow/simd_module.ts", root),
    `// Written by \`deno task client-bundle\` from dev/simd/build_simd_module.ts.

/** The WebAssembly module of the SIMD scan: gzip in base64. */
export const simdModule =
  "${compressed(buildSimdModule(preferredWord))}";
`,
  );
  const entries = [...await bundleClient()].map(([name, text]) =>
    `  "${name}": "${compressed(text)}",\n`
  );
  await Deno.writeTextFile(
    bundleModule,
    `// Written by \`deno task client-bundle\` from exports/client.ts.

/** The files of the client for pages without a build step: gzip in base64, by their paths. */
export const bundledClient: Readonly<Record<string, string>> = {
${entries.join("")}};
`,
  );
}
