import { authorize } from "../../auth/authorize.ts";
import { didYouMean } from "../../problem/nearest_name.ts";
import type { ResourceTransform } from "./code_apis.ts";
import type { CodeCaller, Resource } from "../model/resource.ts";
import { codeRequest } from "./code_request.ts";
import { refusedWrite } from "../write/refused/refused_write.ts";
import { csvRecords, ndjsonRecords } from "../import/file_records.ts";
import type { ImportFileOptions, ImportOutcome } from "../../api/imports.ts";
import { checkImportOptions } from "../import/import_options.ts";
import { runImport } from "../import/run_import.ts";

/** The source and the options of {@link ImportsFromCode.import}. */
export interface ImportSource extends ImportFileOptions {
  /** Opens the bytes of the file. Called again when the transaction is retried. */
  open(): AsyncIterable<Uint8Array>;
  /** The format of the file. */
  readonly format: "ndjson" | "csv";
  /**
   * True if the bytes are available immediately, as from a file. The service then reads the bytes
   * within the transaction, and needs no temporary file. Default: false, because other writes would
   * wait for a slow sender.
   */
  readonly isAtHand?: boolean | undefined;
  /** True if this process has no other work. The import then never pauses. Default: false. */
  readonly isAlone?: boolean | undefined;
  /** The number of rows in each transaction. Default: one transaction for all rows. */
  readonly chunk?: number | undefined;
  /** True to roll all rows back at the end. Default: false. */
  readonly dryRun?: boolean | undefined;
  /** Called every few hundred rows with the counts so far. */
  readonly onProgress?: ((counts: ImportOutcome) => void) | undefined;
}

/** The function that imports rows into the resources of an app. */
export interface ImportsFromCode {
  /**
   * Creates rows from a file, with the rights of the system. `path` is the path of the resource, or
   * the name of its table. If rows fail, rejects with a `Problem`, and `details.errors` contains
   * the line number of each failed row.
   */
  import(path: string, source: ImportSource): Promise<ImportOutcome>;
}

export function createImportsFromCode(
  { resources, ofSystem, bodyLimit: maxRecordBytes }: {
    readonly resources: ReadonlyMap<string, Resource>;
    readonly ofSystem: ResourceTransform;
    /** The largest size of a row, in bytes. */
    readonly bodyLimit: number;
  },
): ImportsFromCode {
  return {
    async import(path, source) {
      const named = resources.get(path) ??
        [...resources.values()].find(({ name }) => name === path);
      if (named === undefined) {
        const hint = didYouMean(path, [...resources.keys()]);
        throw new Error(`There is no resource "${path}"${hint}`);
      }
      const resource = ofSystem(named);
      const { capabilities: { enableCreate }, name, policy } = resource;
      if (!enableCreate) throw new Error(`Cannot import into "${name}": its rows are only read`);
      const request = codeRequest({ name: "batch", options: {} }, system, resource);
      const options = { maxRecordBytes, reading: checkImportOptions(source) };
      const recordsOf = source.format === "csv" ? csvRecords : ndjsonRecords;
      const records = () => recordsOf(source.open(), resource, options);
      const grant = await authorize("create", null, policy);
      const { chunk, dryRun = false, isAtHand = false, isAlone = false, onProgress } = source;
      const mode = chunk === undefined
        ? { kind: "all" as const, dryRun, isAtHand }
        : { kind: "chunks" as const, rows: chunk };
      const plan = { grant, mode, isAlone, onProgress };
      try {
        return await runImport(records, plan, { resource, request, user: null });
      } catch (error) {
        throw await refusedWrite(error, "create", resource);
      }
    },
  };
}

const system: CodeCaller = { user: null, isSystem: true, raw: null, depth: 0, within: null };
