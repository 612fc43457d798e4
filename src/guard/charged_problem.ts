import { Problem } from "../problem/problem.ts";

/** A Problem with status 5xx that the client has caused, so the request's cost is not refunded. */
export class ChargedProblem extends Problem {}
