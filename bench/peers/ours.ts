import { getRequest, keyOf, type Peer, postRequest, rankOf } from "./peer.ts";

/** This service, with rights, tags and a sealed cursor. */
export const ours: Peer = {
  name: "resource-api",
  async prepare({ data, notes }) {
    const file = `${data}/notes.db`;
    await Deno.copyFile(notes, file);
    const port = 8_301;
    const script = new URL("../http_server.ts", import.meta.url).pathname;
    return {
      version: "this state",
      command: [Deno.execPath(), "run", "-A", script, "ours", file, String(port)],
      port,
      requests: {
        get: (turn) => getRequest(`/api/notes/${keyOf(turn)}`),
        list: (turn) =>
          getRequest(
            `/api/notes?filter=status==published;rank%3E${rankOf(turn)}&orderBy=rank&limit=20`,
          ),
        create: (turn) =>
          postRequest("/api/notes", {
            ownerId: "user-1",
            title: `A note, ${turn}`,
            body: "Some text",
            status: "published",
            rank: 7,
          }),
      },
    };
  },
};
