import { findProgram, installOnDebian } from "./debian_packages.ts";

const names = ["chromium", "chromium-browser", "google-chrome"];

/** The path of a Chromium, installed where that is possible; or the reason why there is none. */
export async function chromiumForTests(): Promise<
  { readonly path: string } | { readonly missing: string }
> {
  const path = await findProgram(names) ??
    (await installOnDebian(["chromium", "fonts-liberation"]) ? await findProgram(names) : null);
  return path === null
    ? { missing: "no Chromium on the PATH, and none could be installed" }
    : { path };
}
