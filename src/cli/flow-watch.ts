import type { FlowView } from "../contract/replies.ts";
import type { PublicState } from "../kernel/state.ts";
import type { FlowFabric } from "../library/flowfabric.ts";
import type { CommandContext } from "./command-context.ts";
import { flowLines, type Waiting } from "./format/flow.ts";
import type { Terminal } from "./terminal.ts";

/** How often a flow that goes on is drawn anew. */
const LOOK_MS = 1000;
/** Members whose waiting is explained. */
const MOST_EXPLAINED = 10;
/** Neither running nor ended. */
const STILL = new Set<PublicState>(["waiting", "delayed", "rate_limited", "waiting_children", "suspended"]);

export interface Drawing {
	json?: boolean;
	/** Every node, also of many that look alike. */
	all?: boolean;
}

export async function showFlow(context: CommandContext, ff: FlowFabric, id: string, how: Drawing): Promise<void> {
	const flow = await ff.flows.get(id);
	if (how.json) return context.terminal.json(flow);
	for (const line of await drawn(context.terminal, ff, flow, how)) context.terminal.print(line);
}

/** Draws it over and over where a person looks on, and once at its end in a pipe. */
export async function watchFlow(context: CommandContext, ff: FlowFabric, id: string, how: Drawing): Promise<void> {
	const { terminal } = context;
	const stopping = new AbortController();
	const forget = context.onStop(() => stopping.abort());
	const picture = new Picture(terminal);
	try {
		for (;;) {
			const flow = await ff.flows.get(id);
			const isOver = flow.endedAt !== undefined;
			if (how.json) terminal.jsonLine(flow);
			else if (isOver || terminal.isTTY) picture.show(await drawn(terminal, ff, flow, how), isOver);
			if (isOver) {
				if (flow.state !== "completed") context.end("unsuccessful");
				return;
			}
			await ff.flows.wait(id, { timeoutMs: LOOK_MS, signal: stopping.signal }).catch(stopped(stopping.signal));
			if (stopping.signal.aborted) return context.end("timeout");
		}
	} finally {
		forget();
	}
}

const stopped = (signal: AbortSignal) => (error: unknown) => {
	if (!signal.aborted) throw error;
};

async function drawn(terminal: Terminal, ff: FlowFabric, flow: FlowView, { all = false }: Drawing): Promise<string[]> {
	const waiting = flow.endedAt === undefined ? await waitingOf(ff, flow) : [];
	return flowLines(terminal, flow, waiting, Date.now(), all);
}

/** Those whose upstreams are done come first: what waits for them is plain to see. */
async function waitingOf(ff: FlowFabric, { nodes }: FlowView): Promise<Waiting[]> {
	const still = nodes.filter(({ publicState }) => STILL.has(publicState));
	const foremost = still.filter(({ publicState }) => publicState !== "waiting_children");
	const behind = still.filter(({ publicState }) => publicState === "waiting_children");
	const some = [...foremost, ...behind].slice(0, MOST_EXPLAINED);
	// A flow may be deleted while it is looked at.
	const found = await Promise.all(some.map(({ executionId }) => ff.get(executionId).catch(() => undefined)));
	return found.filter((execution) => execution !== undefined);
}

/** Lines that are written over; a picture higher than the terminal is cut until its last. */
class Picture {
	readonly #terminal: Terminal;
	#height = 0;

	constructor(terminal: Terminal) {
		this.#terminal = terminal;
	}

	show(drawn: readonly string[], isLast: boolean): void {
		const { rows } = this.#terminal;
		const lines = drawn.flatMap((line) => this.#terminal.wrapped(line));
		const room = rows === undefined || isLast ? lines.length : Math.max(1, rows - 2);
		if (this.#height > 0) this.#terminal.write(`\u001b[${this.#height}A\u001b[J`);
		const shown = lines.slice(0, room);
		for (const line of shown) this.#terminal.print(line);
		if (shown.length < lines.length) this.#terminal.print(`… ${lines.length - shown.length} more lines`);
		this.#height = shown.length + (shown.length < lines.length ? 1 : 0);
	}
}
