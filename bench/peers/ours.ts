import {
  getRequests,
  keyOf,
  noteOf,
  patchRequests,
  type Peer,
  postRequests,
  rankOf,
} from "./peer.ts";

const path = "/api/notes";

/** This service, with rights, tags and a sealed cursor. */
export const ours: Peer = {
  name: "resource-api",
  async prepare({ data, notes, port }) {
    const file = `${data}/notes.db`;
    await Deno.copyFile(notes, file);
    const script = new URL("../http_server.ts", import.meta.url).pathname;
    return {
      version: "this state",
      command: [Deno.execPath(), "run", "-A", script, "ours", file, String(port)],
      requests: {
        get: getRequests((turn) => `${path}/${keyOf(turn)}`),
        list: getRequests((turn) =>
          `${path}?filter=status==published;rank%3E${rankOf(turn)}&orderBy=rank&limit=20`
        ),
        create: postRequests(path, noteOf),
        patch: patchRequests((row, version) => ({
          path: `${path}/${row}`,
          headers: `if-match: W/"${version}"\r\n`,
          body: { title: `A title, ${version}` },
        })),
      },
    };
  },
};
