/** What stands in front of a server that is away. */
export const html = () =>
  new Response("<html>We are back soon</html>", { headers: { "content-type": "text/html" } });
/** An answer in JSON. */
export const json = (body: unknown) => Response.json(body);

const item = (changes: Record<string, unknown>) => (_index: string) =>
  json({ items: [{ index: { _id: "1", _index, status: 201, result: "created", ...changes } }] });

/** Answers to a write of the document 1 to an index, none of which confirms it. */
export const unconfirmed: Readonly<Record<string, (index: string) => Response>> = {
  "a page of HTML": html,
  "an empty object": () => json({}),
  "an empty list": () => json({ items: [] }),
  "null": () => json(null),
  "a document of another index": item({ _index: "x" }),
  "a document of another id": item({ _id: "3" }),
  "an item without a status": item({ status: undefined }),
  "the item of a deletion": () => json({ items: [{ delete: { _id: "1", status: 404 } }] }),
  "a 429 for the document": item({ status: 429, result: undefined }),
  "a 503 for the document": item({ status: 503, result: undefined }),
  "a 409 that is no conflict of versions": item({ status: 409, result: undefined }),
  "half of a body": () =>
    new Response('{"items":[{"index":{"_id', { headers: { "content-type": "application/json" } }),
  "nothing": () => new Response(null, { status: 200 }),
};
