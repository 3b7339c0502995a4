import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PUBLIC_STATES } from "../../src/kernel/state.ts";
import { lostLaterFields, withLaterFields } from "../later-fields.ts";
import { History } from "./history.ts";
import { type Step, step } from "./history-steps.ts";

const fenced = ["complete", "fail", "delay", "release", "renew", "progress"];
const refusals = ["fence_required", "stale_lease", "lease_expired", "lease_revoked", "execution_not_active"];

/** Everything that must have happened at least once, or the histories prove less than they seem to. */
const everywhere = [
	...fenced.flatMap((command) => refusals.map((code) => `${command} ${code}`)),
	...["stale_lease", "lease_expired", "lease_revoked", "execution_not_active"].map((code) => `cancel ${code}`),
	...["create waiting", "create delayed", "complete completed", "fail failed", "fail delayed", "fail cancelled"],
	...["delay delayed", "delay cancelled", "release waiting", "release cancelled", "renew ok", "progress ok"],
	...["cancel active", "cancel cancelled", "revokeLease ok", "revokeLease stale_lease"],
	...["replay waiting", "replay execution_not_terminal", "replay max_replays_exhausted"],
	...["waiting", "delayed", "active", "execution_not_active"].map((answer) => `changePriority ${answer}`),
	...["setTags ok", "setTags too_many_tags"],
	...["delete ok", "delete execution_not_terminal"],
	...["nothing", "delay", "lease", "attempt", "queue", "deadline", "grace", "retention"].map((what) => `tick ${what}`),
];

const histories = fc.array(step, { minLength: 40, maxLength: 150 });
const MOST_MORE = 2000;

describe("random histories", () => {
	const reached = new Set<string>();
	const states = new Set<string>();
	const live = (steps: readonly Step[]) => {
		const history = new History();
		for (const each of steps) {
			history.live(each);
			for (const it of history.executions) states.add(it.fields().publicState);
		}
		for (const answer of history.answers) reached.add(answer);
	};

	/** fast-check prints the seed and the shortest history that fails. */
	it("are lived through by the rules as by the plain model of the specification", () => {
		fc.assert(fc.property(histories, live), { numRuns: 1000 });
	});

	it("leave the fields of a later version where they are, whatever happens to the record", () => {
		const liveWithLaterVersion = (steps: readonly Step[]) => {
			const history = new History();
			const { docs } = history.partition;
			for (const each of steps) {
				const before = new Map(docs);
				history.live(each);
				for (const [key, doc] of docs) {
					expect(lostLaterFields(before.get(key) ?? "", doc)).toEqual([]);
					// The holder is told all of its progress, which the model knows nothing more of.
					docs.set(key, withLaterFields(doc, ["progress"]));
				}
			}
		};
		fc.assert(fc.property(histories, liveWithLaterVersion), { numRuns: 100 });
	});

	/** The rarest answer is given in about one of two hundred: a thousand may, once in a while, go without it. */
	it("go everywhere: each command met each of its answers, and each timer fired", () => {
		const missing = () => everywhere.filter((answer) => !reached.has(answer));
		for (let more = 0; more < MOST_MORE && missing().length > 0; more += 100) fc.sample(histories, 100).forEach(live);
		expect(missing()).toEqual([]);
		// The model knows nothing of budgets and quotas, suspensions, and flows.
		expect([...states, "rate_limited", "suspended", "waiting_children", "skipped"].sort()).toEqual(
			[...PUBLIC_STATES].sort(),
		);
	});
});
