import { type BundledFile, bundledFileReply, readBundledFile } from "../bundled_file.ts";
import { describePage, type ServicePage } from "../service_pages.ts";

const files = {
  "client.js": "Client",
  "client/described_filter.js": "ClientFilters",
  "client/find_nonce.js": "ClientSolver",
  "client/link_page.js": "LinkPageScript",
} as const;

export function createClientPages(): readonly ServicePage[] {
  return Object.entries(files).map(([name, id]): ServicePage => {
    const path = `/__service/${name}`;
    let file: BundledFile | null = null;
    return {
      path,
      description: describePage({
        id: `describe${id}`,
        summary: `The client for pages without a build step: ${name}`,
        answers: { 200: { type, schema: { type: "string" } }, 304: null },
        isOpen: true,
      }),
      isOpen: true,
      at: (requested) =>
        requested === path
          ? async ({ raw: { headers } }) =>
            bundledFileReply(headers, file ??= await readFile(name), { type, cache: "public" })
          : null,
    };
  });
}

const type = "text/javascript";

async function readFile(name: string): Promise<BundledFile> {
  const { bundledClient } = await import("./bundled_client.ts");
  return readBundledFile(bundledClient[name] ?? "");
}
