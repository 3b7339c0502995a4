import type { Execution } from "../../contract/replies.ts";
import type { Terminal } from "../terminal.ts";
import { bar } from "./bar.ts";
import { STATE_STYLES, stateName } from "./states.ts";
import { printFields, printTable } from "./table.ts";
import { oneLine } from "./text.ts";
import { length, readable, relative, when } from "./times.ts";

/** One execution for a person: first how it is and why, then everything else that is not as usual. */
export function printExecution(terminal: Terminal, execution: Execution, now: number): void {
	const { attempt, lease, cancel, failure, progress, policy } = execution;
	const at = (time: number | undefined) => (time === undefined ? undefined : when(time, now));
	printFields(terminal, [
		["id", execution.id],
		["kind", oneLine(execution.kind)],
		["state", stateName(terminal, execution.publicState)],
		["why", oneLine(execution.blockingDetail)],
		["until", at(execution.delayUntil)],
		["progress", progress && [barOf(progress.percent), oneLine(progress.message ?? "")].filter(Boolean).join(" ")],
		["failure", failure && oneLine(`${failure.reason} (${failure.category})`)],
		["cancel", cancel && cancelText(cancel, now)],
		["lane", execution.lane],
		["namespace", execution.namespace],
		["priority", String(execution.priority)],
		["budgets", execution.budgets.join(", ")],
		["quotas", execution.quotas.join(", ")],
		["tags", tagsText(execution.tags)],
		["attempt", attempt && `${attempt.index} (${attempt.type}, ${attempt.state})`],
		[
			"lease",
			lease &&
				oneLine(`${lease.workerId} / ${lease.instanceId}, epoch ${lease.epoch}, ends ${when(lease.expiresAt, now)}`),
		],
		["counts", `retries ${execution.retries}, reclaims ${execution.reclaims}, replays ${execution.replays}`],
		["created", `${when(execution.createdAt, now)} by ${oneLine(execution.createdBy)}`],
		["started", at(execution.startedAt)],
		["ended", at(execution.completedAt)],
		[
			"took",
			execution.completedAt && execution.startedAt ? length(execution.completedAt - execution.startedAt) : undefined,
		],
		["policy", Object.keys(policy).length > 0 ? JSON.stringify(policy) : undefined],
	]);
}

function tagsText(tags: Record<string, string>): string {
	return Object.entries(tags)
		.map(([key, value]) => `${key}=${oneLine(value)}`)
		.join(", ");
}

const barOf = (percent: number | undefined): string => (percent === undefined ? "" : bar(percent));

function cancelText(
	{ reason, source, requestedAt, deadlineAt }: NonNullable<Execution["cancel"]>,
	now: number,
): string {
	const why = reason === undefined ? "" : `${oneLine(reason)}; `;
	const until = deadlineAt === undefined ? "" : `, its worker has until ${when(deadlineAt, now)}`;
	return `${why}by ${source}, ${when(requestedAt, now)}${until}`;
}

/** What matters first: how it is and why, then what it is and where; ids are shortened on a terminal. */
export function printExecutions(terminal: Terminal, executions: readonly Execution[], now: number): void {
	printTable(
		terminal,
		[
			{
				title: "STATE",
				cell: ({ publicState }) => publicState,
				paint: (text, { publicState }) => terminal.style(STATE_STYLES[publicState], text),
			},
			{ title: "WHY", cell: (execution) => readable(detail(execution), now), least: 24 },
			{ title: "KIND", cell: ({ kind }) => kind, least: 10 },
			{ title: "ID", cell: ({ id }) => id, isId: true },
			{ title: "CREATED", cell: ({ createdAt }) => relative(createdAt, now) },
			{ title: "LANE", cell: ({ lane }) => lane, least: 6 },
			{ title: "PRI", cell: ({ priority }) => String(priority), align: "right" },
		],
		executions,
	);
}

/** The one thing worth a column: what it waits for, how far it is, or what went wrong. */
export function detail({ blockingDetail, progress, failure, cancel, publicState }: Execution): string {
	if (blockingDetail) return blockingDetail;
	if (publicState === "active" && progress) {
		const percent = progress.percent === undefined ? "" : `${Math.floor(progress.percent)} %`;
		return [percent, progress.message].filter(Boolean).join(" ");
	}
	if (publicState === "cancelled") return cancel?.reason ?? "";
	return publicState === "completed" ? "" : (failure?.reason ?? "");
}
