import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { FlowFabricError } from "../contract/errors.ts";
import { requestOn } from "./one-by-one.ts";
import type { ServerContext } from "./server-context.ts";

const IDLE_CHECK_MS = 20;
/** How long a request whose body is still arriving may take to be complete. */
const ARRIVAL_MS = 2000;

interface Closing {
	/** How long calls may take to finish. */
	graceMs: number;
	/** Those that are open now. */
	sockets: Iterable<Socket>;
}

/**
 * In this order: no new connection and no new call; whoever waits is answered with what there is, and every tail with a
 * `close` event; calls under way finish, for at most `graceMs`; what is left is cut. Connections without a call are no
 * reason to wait: they are cut at once, and so are, a little later, those whose call has not arrived.
 */
export async function closeGracefully(
	app: FastifyInstance,
	context: ServerContext,
	{ graceMs, sockets }: Closing,
): Promise<void> {
	context.closing = true;
	const closed = app.close();
	for (const call of [...context.waiting]) call.end("closing");
	for (const tail of [...context.tails]) tail.end(new FlowFabricError("shutting_down"));
	const cutThose = (isCut: (socket: Socket) => boolean) => {
		const cut = [...sockets].filter((socket) => !socket.destroyed && isCut(socket));
		for (const socket of cut) socket.destroy();
		return cut.length;
	};
	// A connection whose call was under way is without one later than the listener was closed.
	const idle = setInterval(() => cutThose(isIdle), IDLE_CHECK_MS);
	const arrival = setTimeout(
		() => {
			const requests = cutThose((socket) => requestOn(socket)?.complete === false);
			if (requests > 0) context.log.info({ requests }, "requests that had not arrived whole were cut");
		},
		Math.min(ARRIVAL_MS, graceMs),
	);
	const cut = setTimeout(() => {
		const calls = cutThose(() => true);
		if (calls > 0) context.log.warn({ graceMs, calls }, "calls were still running and were aborted");
	}, graceMs);
	try {
		await closed;
	} finally {
		clearInterval(idle);
		clearTimeout(arrival);
		clearTimeout(cut);
	}
}

/** Nothing is asked on it, or no more than a part of a head; and what was answered has been taken. */
const isIdle = (socket: Socket): boolean =>
	requestOn(socket) === undefined && (!socket.writableEnded || socket.writableFinished) && socket.writableLength === 0;
