import { FlowFabricError } from "../contract/errors.ts";
import type { Bytes, Execution } from "../contract/replies.ts";
import type { FlowFabric } from "../library/flowfabric.ts";
import type { CommandContext } from "./command-context.ts";
import { bar, spinner } from "./format/bar.ts";
import { detail } from "./format/execution.ts";
import { stateName } from "./format/states.ts";
import { length } from "./format/times.ts";
import { payloadFields } from "./payloads.ts";
import type { Terminal } from "./terminal.ts";

const FRAME_MS = 100;
const LOOK_MS = 500;

export interface Wait {
	timeoutMs?: number;
	json?: boolean;
}

/** Waits for the end, showing how far it is when somebody looks on, and says how it ended. */
export async function waitAndTell(
	context: CommandContext,
	ff: FlowFabric,
	id: string,
	{ timeoutMs, json }: Wait,
): Promise<void> {
	const { terminal } = context;
	const stop = terminal.moves ? showProgress(terminal, ff, id) : () => {};
	let execution: Execution;
	try {
		execution = await ff.wait(id, timeoutMs === undefined ? {} : { timeoutMs });
	} finally {
		stop();
	}
	const result = await resultIfAny(ff, execution);
	if (json) terminal.json({ ...execution, ...payloadFields("result", result) });
	else terminal.print(ending(terminal, execution, result));
	if (execution.state.lifecyclePhase !== "terminal") context.end("timeout");
	else if (execution.state.terminalOutcome !== "success") context.end("unsuccessful");
}

async function resultIfAny(ff: FlowFabric, execution: Execution): Promise<Bytes | undefined> {
	if (execution.state.terminalOutcome !== "success") return undefined;
	try {
		return await ff.backend.executions.result(execution.id);
	} catch (error) {
		if (error instanceof FlowFabricError && error.code === "result_not_found") return undefined;
		throw error;
	}
}

function ending(terminal: Terminal, execution: Execution, result: Bytes | undefined): string {
	const { id, createdAt, completedAt, failure, cancel } = execution;
	const state = stateName(terminal, execution.publicState);
	if (execution.state.lifecyclePhase !== "terminal") return `${id} is still ${state}: ${detail(execution)}`;
	const took = completedAt === undefined ? "" : ` after ${length(completedAt - createdAt)}`;
	const why = result ? shown(result) : (failure?.reason ?? cancel?.reason);
	return `${id} ${state}${took}${why === undefined ? "" : `: ${why}`}`;
}

function shown(result: Bytes): string {
	const fields = payloadFields("result", result);
	return "result" in fields
		? JSON.stringify(fields["result"])
		: `${result.bytes.byteLength} bytes of ${result.contentType}`;
}

/** Keeps the status line going; a look that fails is left to the wait itself to complain about. */
function showProgress(terminal: Terminal, ff: FlowFabric, id: string): () => void {
	let turn = 0;
	let looking = false;
	let lookedAt = Number.NEGATIVE_INFINITY;
	let text = "waiting";
	const look = async () => {
		looking = true;
		text = await ff.get(id).then(progressText, () => text);
		looking = false;
		lookedAt = performance.now();
	};
	const timer = setInterval(() => {
		if (!looking && performance.now() - lookedAt > LOOK_MS) void look();
		terminal.status(`${spinner(turn++)} ${text}`);
	}, FRAME_MS);
	return () => {
		clearInterval(timer);
		terminal.status("");
	};
}

function progressText(execution: Execution): string {
	const { progress, publicState } = execution;
	if (progress?.percent === undefined) return [publicState, detail(execution)].filter(Boolean).join(": ");
	return [publicState, bar(progress.percent), progress.message].filter(Boolean).join(" ");
}
