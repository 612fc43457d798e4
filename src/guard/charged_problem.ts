import { Problem } from "../problem/problem.ts";

/**
 * A problem that has the status of a fault of the service, and that the client of the request has
 * caused: the request stays charged.
 */
export class ChargedProblem extends Problem {}
