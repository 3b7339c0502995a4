import { setPriority } from "node:os";
import { Random } from "../../simulation/random.ts";
import { type Attack, Attacker, type Complaint, type Weapon } from "./attack.ts";
import { RoughSockets } from "./rough-sockets.ts";
import { Striker } from "./strike.ts";

/** Those who attack, in a process of their own. */

export interface AttackOrder {
	address: string;
	weapons: Weapon[];
	/** Ids of the second tenant. */
	foreignIds: string[];
}

/** Where to begin and how many to send. */
export interface Wave {
	seed: number;
	requests: number;
	perSecond: number;
}

export interface WaveReport {
	statuses: [status: number, count: number][];
	complaints: (Pick<Complaint, "attack" | "problem"> & { status: number; text: string })[];
	/** Sent as HTTP does not ask for. */
	rough: number;
	/** Requests whose connection the server closed before it had answered. */
	cut: number;
	seconds: number;
	/** Routes that refused everything. */
	neverDone: string[];
}

/** Requests under way at the same time. */
const AT_ONCE = 8;
const TICK_MS = 5;
const ENOUGH = 5;
/** What is shown of what was sent and answered. */
const SHOWN = 2000;

/**
 * Attackers have their own machines, and here they share two cores with the server. Below everybody else's priority they
 * take only what is left, so that what the neighbour feels is the server's doing.
 */
setPriority(10);

const { address, weapons, foreignIds } = JSON.parse(process.argv[2] ?? "{}") as AttackOrder;
const openApi: unknown = await (await fetch(`${address}/openapi.json`)).json();
const attacker = new Attacker(openApi, weapons, foreignIds);
const striker = new Striker(address, AT_ONCE);
let report: WaveReport = fresh();
const sockets = new RoughSockets(Number(new URL(address).port), (status, way, heard) => {
	attacker.count(status);
	if (status >= 500 && status !== 503 && status !== 504)
		complain(`${way}: answered ${status}`, undefined, status, heard);
});

process.on("message", async (wave: Wave | "leave") => {
	if (wave === "leave") process.exit();
	process.send?.(await send(wave));
});
process.once("disconnect", () => process.exit());
process.send?.("ready");

/** Sends them at their pace, however slowly they are answered, up to so many at once. */
async function send({ seed, requests, perSecond }: Wave): Promise<WaveReport> {
	report = fresh();
	attacker.statuses.clear();
	const began = performance.now();
	let sent = 0;
	let underWay = 0;
	await new Promise<void>((resolve) => {
		const timer = setInterval(() => {
			const due = Math.min(requests, ((performance.now() - began) / 1000) * perSecond);
			const isOver = report.complaints.length >= ENOUGH;
			while (sent < due && underWay < AT_ONCE && !isOver) {
				underWay += 1;
				void one(attacker.attack(seed + sent++)).finally(() => (underWay -= 1));
			}
			if ((sent < requests && !isOver) || underWay > 0) return;
			clearInterval(timer);
			resolve();
		}, TICK_MS);
	});
	report.statuses = [...attacker.statuses].sort(([a], [b]) => a - b);
	report.neverDone = attacker.neverDone;
	report.seconds = (performance.now() - began) / 1000;
	striker.close();
	sockets.leaveStreams();
	return report;
}

async function one(attack: Attack): Promise<void> {
	if (attack.rough) {
		report.rough += 1;
		sockets.attack(attack.rough, attack.request, new Random(attack.seed));
		return;
	}
	try {
		const answer = await striker.strike(attack.request);
		const complaint = attacker.judge(attack, answer);
		if (complaint) complain(complaint.problem, attack, answer.status, answer.text);
	} catch {
		// A body that is too large is refused while it still comes, and a server that has gone shows by itself.
		report.cut += 1;
	}
}

function complain(problem: string, attack: Attack | undefined, status: number, text: string): void {
	const shown = attack && { ...attack, request: { ...attack.request, body: attack.request.body?.slice(0, SHOWN) } };
	report.complaints.push({ problem, attack: shown as Attack, status, text: text.slice(0, SHOWN) });
}

function fresh(): WaveReport {
	return { statuses: [], complaints: [], rough: 0, cut: 0, seconds: 0, neverDone: [] };
}
