import type { ImportOutcome } from "../../api/imports.ts";
import { invalidParameter, Problem } from "../../problem/problem.ts";
import type { Resource } from "../model/resource.ts";
import { parseFlag, type Query } from "../http/query_parameters.ts";
import { mediaTypeOf } from "../http/request_body.ts";
import { csvRecords, ndjsonRecords } from "../import/file_records.ts";
import { checkImportOptions, type ImportReading, importTexts } from "../import/import_options.ts";
import type { ImportRecords } from "../import/import_record.ts";
import { type ImportPlan, type ImportTransactionMode, runImport } from "../import/run_import.ts";
import { asksForSafeNumbers } from "../../schema/safe_numbers.ts";
import { jsonReply } from "../http/json_reply.ts";
import type { Operation, ResourceRequest } from "../model/operation.ts";

interface ImportIntent {
  readonly format: Format;
  readonly mode: ImportTransactionMode;
  readonly reading: ImportReading;
}

type Format = "ndjson" | "csv";

export const importOperation: Operation<ImportIntent, ImportPlan & ImportIntent, ImportOutcome> = {
  name: "import",
  access: "create",
  // The operation reads the body itself, in parts.
  takesBody: false,
  ownParameters: () => parameters,

  parse(request) {
    if (request.header("idempotency-key") !== null) {
      throw invalidParameter(
        "Cannot import under an Idempotency-Key: the body is not kept to be compared",
      );
    }
    const format = formatOf(request);
    return { format, mode: modeOf(request.query), reading: readingOf(request, format) };
  },

  plan: (intent, grant) => ({ ...intent, grant }),

  async execute(plan, call) {
    return await runImport(() => recordsOf(plan, call.request, call.resource), plan, call);
  },

  shape({ rows, written }) {
    return jsonReply(200, { rows, written });
  },
};

const parameters: ReadonlySet<string> = new Set([
  ...["mode", "chunk", "dryRun"],
  ...["delimiter", "null", "encoding", "map", "ignoreExtra", "timestamps"],
]);

function readingOf({ query, header }: ResourceRequest, format: Format): ImportReading {
  const ignoreExtra = parseFlag(query, "ignoreExtra");
  const { encoding = charsetIn(header("content-type") ?? ""), ...texts } = importTexts((name) =>
    query.get(name)
  );
  return checkImportOptions({ ...texts, format, ignoreExtra, encoding });
}

/** Returns the charset of a media type. Ignores UTF-8, which many clients send for any file. */
function charsetIn(mediaType: string): string | undefined {
  const [, charset] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(mediaType) ?? [];
  return charset !== undefined && /^utf-?8$/i.test(charset) ? undefined : charset;
}

const defaultChunk = 1_000;
const maxChunk = 10_000;

function modeOf(query: Query): ImportTransactionMode {
  const mode = query.get("mode") ?? "all";
  const chunk = query.get("chunk");
  const dryRun = parseFlag(query, "dryRun");
  if (mode === "all") {
    if (chunk === undefined) return { kind: "all", dryRun, isAtHand: false };
    throw invalidParameter('Cannot use "chunk" without mode=chunks');
  }
  if (mode !== "chunks") {
    throw invalidParameter('Cannot use this "mode": it must be all or chunks');
  }
  if (dryRun) throw invalidParameter('Cannot use "dryRun" with mode=chunks');
  const rows = chunk === undefined ? defaultChunk : /^\d{1,9}$/.test(chunk) ? Number(chunk) : 0;
  if (rows >= 1 && rows <= maxChunk) return { kind: "chunks", rows };
  throw invalidParameter(
    `Cannot use this "chunk": it must be a whole number from 1 to ${maxChunk}`,
  );
}

function formatOf({ header }: Pick<ResourceRequest, "header">): Format {
  const type = mediaTypeOf(header);
  if (type === "text/csv") return "csv";
  if (type === "application/x-ndjson") return "ndjson";
  throw new Problem(
    "unsupported-media-type",
    "Cannot read this body: send it with the header content-type: application/x-ndjson, or text/csv",
  );
}

function recordsOf(
  { format, reading }: ImportIntent,
  { bodyParts, safeNumbers, header }: ResourceRequest,
  resource: Resource,
): ImportRecords {
  if (bodyParts === undefined) throw new Error("An import was called without a request");
  const { parts, maxPartBytes: maxRecordBytes } = bodyParts(resource.imports.maxBytes);
  const options = { maxRecordBytes, reading };
  if (format === "csv") return csvRecords(parts, resource, options);
  // In a file, numbers can have another form than the one that the client requests in responses.
  const type = header("content-type") ?? "";
  const isSafe = type.includes("numbers=") ? asksForSafeNumbers(type) : safeNumbers;
  return ndjsonRecords(parts, resource, { ...options, safeNumbers: isSafe });
}
