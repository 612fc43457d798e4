import { databaseProblem } from "../../db/database_error.ts";
import type { Reply } from "../../protocol/reply.ts";
import { type DataReply, jsonReply, safeNumbersType } from "../http/json_reply.ts";
import { replaceExactNumbers } from "../../schema/exact_number.ts";
import { jsonFits, textFits } from "../../schema/json_fits.ts";
import { safeOutput } from "../../schema/safe_numbers.ts";
import { apiForHandler, type ResourceCall } from "../model/operation.ts";
import { type ResponsePart, responseTooLarge } from "../http/response_byte_budget.ts";
import { narrowForCaller } from "../rights/caller_view.ts";
import { type FieldError, InvalidFields } from "../write/values/parse_fields.ts";
import type { Procedure, ProcedureContext } from "../model/procedure.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { issuePath, type SchemaIssue } from "../../schema/standard_schema.ts";

export interface ProcedureCall {
  readonly name: string;
  readonly call: ResourceCall;
}

export async function answerProcedure(
  procedure: Procedure,
  { name, call }: ProcedureCall,
): Promise<Reply> {
  const { maxAnswerBytes } = call.resource.readCosts;
  return await runCall(
    procedure,
    { name, call },
    (reply) => writeReply(reply, subjectOf(name, call), maxAnswerBytes),
  );
}

/** Throws a 422 for an invalid body, and a plain Error for an invalid output. */
export async function callProcedure(
  procedure: Procedure,
  { name, call }: ProcedureCall,
): Promise<DataReply> {
  return await runCall(procedure, { name, call }, (reply) => reply);
}

type End = (isAnswered: boolean) => MaybePromise<void>;

async function runCall<Answer>(
  procedure: Procedure,
  { name, call }: ProcedureCall,
  answer: (reply: DataReply) => Answer,
): Promise<Answer> {
  const ends: End[] = [];
  let answered: Answer;
  try {
    const output = await outputOf(procedure, { name, call }, (end) => void ends.push(end));
    answered = answer(output);
  } catch (error) {
    await runEnds(ends, false).catch(() => undefined);
    throw databaseProblem(error, `call ${name}`);
  }
  await runEnds(ends, true);
  return answered;
}

/** Runs all callbacks in order. If one throws, later callbacks receive `isAnswered` false. */
async function runEnds(ends: readonly End[], isAnswered: boolean): Promise<void> {
  for (const [index, end] of ends.entries()) {
    try {
      await end(isAnswered);
    } catch (error) {
      await runEnds(ends.slice(index + 1), false).catch(() => undefined);
      throw error;
    }
  }
}

async function outputOf(
  procedure: Procedure,
  { name, call }: ProcedureCall,
  onEnd: ProcedureContext["onEnd"],
): Promise<DataReply> {
  const { resource, request, user } = call;
  const input = await validInput(procedure, request.body);
  const output = await procedure.handler({
    db: narrowForCaller(user, resource).db,
    user,
    request: request.raw,
    resource: { name: resource.name, url: resource.url },
    onEnd,
    ...apiForHandler(call),
  }, input);
  const data = await validOutput(procedure, output, subjectOf(name, call));
  const limit = resource.readCosts.maxAnswerBytes;
  if (!jsonFits(data, limit)) throw responseTooLarge(limit, procedureOutput);
  const shown = data ?? null;
  if (request.safeNumbers) return jsonReply(200, { data: safeOutput(shown) }, safeNumbersType);
  return jsonReply(200, { data: shown });
}

const procedureOutput: ResponsePart = {
  name: "data",
  subject: "the data of the procedure, which has run,",
  advice: "Call it with an input that gives less",
};

async function validInput({ input }: Procedure, body: unknown): Promise<unknown> {
  const result = await input["~standard"].validate(replaceExactNumbers(body));
  if (result.issues === undefined) return result.value;
  const errors = result.issues.map(fieldError);
  throw new InvalidFields(errors.length > 0 ? errors : [{ path: "", message: "is not valid" }]);
}

/** Shortens an issue's path and message, because they can quote a long value of the client. */
function fieldError(issue: SchemaIssue): FieldError {
  return { path: issuePath(issue).slice(0, 100), message: String(issue.message).slice(0, 300) };
}

async function validOutput(
  { output }: Procedure,
  given: unknown,
  subject: string,
): Promise<unknown> {
  const result = await output["~standard"].validate(given);
  if (result.issues === undefined) return result.value;
  // The error contains only paths, because messages can quote a value that clients must not see.
  const paths = result.issues.slice(0, 10).map((issue) => `"${issuePath(issue).slice(0, 100)}"`);
  throw new Error(`${subject} gave what its output schema refuses, at ${paths.join(", ")}`);
}

function subjectOf(name: string, { resource }: ResourceCall): string {
  return `The procedure "${name}" of "${resource.name}"`;
}

function writeReply(unwritten: DataReply, subject: string, limit: number): Reply {
  const refusal = `${subject} gave an output that JSON cannot hold`;
  let reply: Reply;
  try {
    reply = unwritten.writeAll();
  } catch (cause) {
    throw new Error(refusal, { cause });
  }
  // `JSON.stringify` omits `data` if it is a function or a symbol: the body is then `{}`.
  if (reply.body === "{}") throw new Error(refusal);
  // Checks the size in bytes: until here, only the characters of some strings were counted.
  if (typeof reply.body === "string" && !textFits(reply.body, limit)) {
    throw responseTooLarge(limit, procedureOutput);
  }
  return reply;
}
