import type { Grant } from "../../auth/authorize.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { Problem } from "../../problem/problem.ts";
import { createYieldTurn, type YieldTurn } from "../../runtime/runtime.ts";
import type { OperationCall, ResourceCall, WriteCall } from "../model/operation.ts";
import { inTransaction, type WriteConnection } from "../write/transaction/in_transaction.ts";
import { refusalKinds } from "../write/refused/failed_write.ts";
import { refusedWrite } from "../write/refused/refused_write.ts";
import type { ImportRecords } from "./import_record.ts";
import type { ImportOutcome } from "../../api/imports.ts";
import { LineErrors } from "./line_errors.ts";
import { errorsOfLine, type RowChunk, rowChunks } from "./row_chunks.ts";
import { RowSpool } from "./row_spool.ts";
import { RefusedRowsError, SliceWriter } from "./write_slice.ts";

export type ImportTransactionMode =
  | {
    readonly kind: "all";
    readonly dryRun: boolean;
    /** True if the transaction can read the body's bytes without waiting for a client. */
    readonly isAtHand: boolean;
  }
  | { readonly kind: "chunks"; readonly rows: number };

export interface ImportPlan {
  readonly grant: Grant;
  readonly mode: ImportTransactionMode;
  /** True if the process has no other work, so the import never pauses. Default: false. */
  readonly isAlone?: boolean;
  readonly onProgress?: ((counts: ImportOutcome) => void) | undefined;
}

/** Throws a 422 with errors by line. If each chunk has a transaction, lists the unwritten lines. */
export async function runImport(
  records: () => ImportRecords,
  { grant, mode, isAlone = false, onProgress = () => {} }: ImportPlan,
  call: ResourceCall,
): Promise<ImportOutcome> {
  const giveTurn = isAlone ? noTurn : createYieldTurn(call.resource.runtime.clock);
  const ofCall = { ...call, record: null, grant };
  const importing = new RowImport(records, ofCall, { onProgress, giveTurn });
  if (mode.kind === "chunks") return await importing.chunks(mode.rows);
  // Before-hooks must not run in a transaction, so they run for all rows before it begins.
  const isAtHand = mode.isAtHand && call.resource.hooks.onBeforeCreate === undefined;
  return isAtHand ? await importing.within(mode) : await importing.all(mode);
}

const noTurn: YieldTurn = () => Promise.resolve();

/** The number of rows that are written in one turn of the event loop and share a savepoint. */
const sliceRows = 512;

type ImportCall = WriteCall & OperationCall<void>;

interface RowImportOptions {
  readonly onProgress: (counts: ImportOutcome) => void;
  readonly giveTurn: YieldTurn;
}

class RowImport {
  readonly #records: () => ImportRecords;
  readonly #call: ImportCall;
  readonly #options: RowImportOptions;
  readonly #writer: SliceWriter;
  #errors = new LineErrors();
  #rows = 0;
  #written = 0;

  constructor(records: () => ImportRecords, call: ImportCall, options: RowImportOptions) {
    this.#records = records;
    this.#call = call;
    this.#options = options;
    this.#writer = new SliceWriter(call);
  }

  async within({ dryRun }: { readonly dryRun: boolean }): Promise<ImportOutcome> {
    return await this.#atomic(dryRun, async (connection) => {
      // Resets the count and the errors, because a retried transaction reads all rows again.
      this.#rows = 0;
      this.#errors = new LineErrors();
      for await (const chunk of this.#chunks(sliceRows)) {
        this.#take(chunk);
        if (this.#errors.isFull) break;
        if (!this.#errors.isEmpty) continue;
        await this.#writer.write(chunk.rows, connection);
        await connection.indexWritten();
        this.#report();
      }
      if (!this.#errors.isEmpty) throw new RefusedRowsError([]);
    });
  }

  /** Reads all rows before it writes the first, so that a slow client does not block writers. */
  async all({ dryRun }: { readonly dryRun: boolean }): Promise<ImportOutcome> {
    await using spool = new RowSpool(this.#call.resource.table);
    for await (const chunk of this.#chunks(sliceRows)) {
      this.#take(chunk);
      if (this.#errors.isFull) break;
      if (!this.#errors.isEmpty) continue;
      // Charges before the transaction, because a transaction must not wait for the budget store.
      await this.#call.request.debit.charge(this.#rows);
      await spool.add(chunk.rows, chunk.size);
      this.#report();
    }
    if (!this.#errors.isEmpty) throw this.#problem();
    return await this.#atomic(dryRun, async (connection) => {
      for await (const slice of spool.slices()) {
        this.#requireClient();
        await this.#writer.write(slice, connection);
        await connection.indexWritten();
        await this.#options.giveTurn();
      }
    });
  }

  async #atomic(
    dryRun: boolean,
    work: (connection: WriteConnection) => Promise<void>,
  ): Promise<ImportOutcome> {
    try {
      await inTransaction(this.#call, async (connection) => {
        await work(connection);
        if (dryRun) throw new DryRunDone();
      });
    } catch (error) {
      if (error instanceof DryRunDone) return { rows: this.#rows, written: 0 };
      if (!(error instanceof RefusedRowsError)) throw error;
      await this.#addRefused(error);
      throw this.#problem();
    }
    return { rows: this.#rows, written: this.#rows };
  }

  #take({ count, errors }: RowChunk): void {
    this.#rows += count;
    for (const error of errors) this.#errors.add(error);
  }

  #report(): void {
    this.#options.onProgress({ rows: this.#rows, written: this.#written });
  }

  async chunks(maxRows: number): Promise<ImportOutcome> {
    let isNext = false;
    try {
      for await (const chunk of this.#chunks(maxRows)) {
        this.#rows += chunk.count;
        const isWritten = chunk.errors.length === 0 && await this.#write(chunk);
        for (const error of chunk.errors) this.#errors.add(error);
        if (isWritten) this.#written += chunk.count;
        else this.#errors.addUnwritten(chunk, isNext);
        isNext = !isWritten;
        this.#report();
        if (!this.#isPaid) break;
      }
    } catch (error) {
      throw this.#written === 0 ? error : await this.#withWritten(error);
    }
    if (!this.#errors.isEmpty) throw this.#problem();
    return { rows: this.#rows, written: this.#written };
  }

  #isPaid = true;

  async #write(chunk: RowChunk): Promise<boolean> {
    try {
      await this.#call.request.debit.charge(this.#rows);
    } catch (error) {
      // A 429 response would refund the tokens of rows already written, so the response is a 422.
      if (!(error instanceof Problem) || this.#written === 0) throw error;
      this.#isPaid = false;
      this.#errors.add({ line: chunk.from, path: "", message: error.message });
      this.#errors.addUnwritten({ from: chunk.from, to: null }, false);
      return false;
    }
    try {
      await inTransaction(this.#call, async (connection) => {
        for (let at = 0; at < chunk.rows.length; at += sliceRows) {
          this.#requireClient();
          await this.#writer.write(chunk.rows.slice(at, at + sliceRows), connection);
          await this.#options.giveTurn();
        }
      });
      return true;
    } catch (error) {
      // A deferred constraint's error names no row, so it is reported for the chunk's first line.
      const isCommit = error instanceof DatabaseError && refusalKinds.has(error.kind);
      const refused = isCommit ? new RefusedRowsError([{ line: chunk.from, error }]) : error;
      if (!(refused instanceof RefusedRowsError)) throw error;
      await this.#addRefused(refused);
      return false;
    }
  }

  #chunks(maxRows: number): AsyncIterable<RowChunk> {
    return rowChunks(this.#records(), {
      write: this.#call,
      maxRows,
      giveTurn: this.#options.giveTurn,
    });
  }

  /** Throws if the client has disconnected, because the client would not learn what was written. */
  #requireClient(): void {
    if (!this.#call.request.signal().aborted) return;
    throw new Problem("invalid-body", "The client has left before its rows were written");
  }

  /** Runs after the transaction, because it queries the database for field names. */
  async #addRefused({ rows }: RefusedRowsError): Promise<void> {
    for (const { line, error } of rows) {
      if (this.#errors.isFull) return;
      const problem = await refusedWrite(error, "create", this.#call.resource);
      for (const one of errorsOfLine(problem, line)) this.#errors.add(one);
    }
  }

  #problem(): Problem {
    return this.#errors.problem({ rows: this.#rows, written: this.#written });
  }

  async #withWritten(error: unknown): Promise<unknown> {
    const problem = await refusedWrite(error, "create", this.#call.resource);
    if (!(problem instanceof Problem)) return problem;
    const { slug, message, headers, cause, details } = problem;
    const written = { ...details, rows: this.#rows, written: this.#written };
    return new Problem(slug, message, { headers, cause, details: written });
  }
}

class DryRunDone extends Error {}
