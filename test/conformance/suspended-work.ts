import type {
	CreateRequest,
	OpenedWaitpoint,
	SignalReply,
	SignalRequest,
	SuspendReply,
	SuspendRequest,
} from "../../src/index.ts";
import type { Held, Scene } from "./scene.ts";

/** Words for work that waits, which many cases need. */

/** What a case says of a suspend; the rest is a wait for the signal `go` at the waitpoint `w`. */
export type Waiting = Partial<Omit<SuspendRequest, "fence">>;

export const suspend = (scene: Scene, { id, fence }: Held, request: Waiting = {}): Promise<SuspendReply> =>
	scene.backend.leases.suspend(id, {
		fence,
		reason: "waiting_for_signal",
		condition: { signal: "go" },
		waitpoints: [{ key: "w" }],
		...request,
	});

export type Sent = Partial<Omit<SignalRequest, "waitpointId" | "token">>;

/** Sends a signal to a waitpoint as somebody who was given its token. */
export const send = (scene: Scene, id: string, at: OpenedWaitpoint, name = "go", sent: Sent = {}) =>
	scene.backend.waitpoints.signal(id, { waitpointId: at.id, token: at.token, name, ...sent });

/** An execution that waits, and how to reach it. */
export interface SuspendedWork {
	id: string;
	held: Held;
	reply: SuspendReply;
	/** The waitpoint under a key, else the first. */
	at(key?: string): OpenedWaitpoint;
	send(name?: string, sent?: Sent & { to?: string }): Promise<SignalReply>;
}

/** Something new that was claimed and now waits. */
export async function suspended(
	scene: Scene,
	request: Waiting = {},
	create: Partial<CreateRequest> = {},
): Promise<SuspendedWork> {
	return wait(scene, await scene.start(create), request);
}

/** Has held work wait. */
export async function wait(scene: Scene, held: Held, request: Waiting = {}): Promise<SuspendedWork> {
	const reply = await suspend(scene, held, request);
	if (reply.status !== "suspended") throw new Error(`was not suspended but ${reply.status}`);
	const at = (key?: string): OpenedWaitpoint => {
		const found = reply.waitpoints.find((each) => key === undefined || each.key === key);
		if (!found) throw new Error(`no waitpoint ${key}`);
		return found;
	};
	return {
		id: held.id,
		held,
		reply,
		at,
		send: (name, { to, ...sent } = {}) => send(scene, held.id, at(to), name, sent),
	};
}

/** The names of signals, in their order. */
export const namesOf = (signals: readonly { name: string }[] | undefined): string[] | undefined =>
	signals?.map(({ name }) => name);

/** The seven fields of work that waits for a signal. */
export const waitingForSignal = {
	publicState: "suspended",
	lifecyclePhase: "suspended",
	ownershipState: "unowned",
	eligibilityState: "not_applicable",
	blockingReason: "waiting_for_signal",
	terminalOutcome: "none",
	attemptState: "attempt_interrupted",
};
