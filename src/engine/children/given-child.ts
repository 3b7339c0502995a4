import { type ChildRequest, childRequest } from "../../contract/children.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import type { CreateRequest } from "../../contract/executions.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import type { GivenChild } from "../../kernel/rules/add-children.ts";
import type { CreateCommand } from "../../kernel/rules/create.ts";
import { createCommand, type SubmissionContext } from "../submission.ts";

/** A child as it came, made into work of its parent. */
export interface ChildOf extends GivenChild {
	work: CreateCommand;
	/** What it names of budgets and quotas by itself: whether there are such is yet to be found out. */
	names: Pick<CreateCommand, "namespace" | "budgets" | "quotas">;
}

/** Checks a child like a submission. What it does not say of itself its parent says. */
export function childOf(given: unknown, parent: ExecutionRecord, context: SubmissionContext): ChildOf {
	const { key, onParentEnd, ...said } = childRequest.check(given) as ChildRequest;
	const { namespace, fairnessKey } = parent;
	const request: CreateRequest = { ...said, namespace };
	if ((said as CreateRequest).idempotencyKey !== undefined)
		throw invalid("idempotencyKey", "is not for children, whose key says which they are");
	if (said.namespace !== undefined && said.namespace !== namespace)
		throw invalid("namespace", `must be that of the parent, ${namespace}`);
	request.lane ??= parent.lane;
	request.priority ??= parent.priority;
	if (fairnessKey !== "") request.fairnessKey ??= fairnessKey;
	const { budgets, quotas } = said;
	request.quotas ??= [...parent.quotas];
	if (budgets === undefined || Array.isArray(budgets))
		request.budgets = [...new Set([...(budgets ?? []), ...parent.budgets])];
	const work = createCommand(request, context);
	const names = { namespace, ...(budgets ? { budgets } : undefined), ...(quotas ? { quotas } : undefined) };
	return { key, work, names, ...(onParentEnd === "leave" ? { isLeft: true } : undefined) };
}

const invalid = (field: string, problem: string): FlowFabricError =>
	new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
