import type { SignalView } from "../contract/replies.ts";

/** A signal as a handler gets it. */
export interface ReceivedSignal {
	/** Its id; left out where nobody sent one. */
	id?: string;
	/** Its name. */
	name: string;
	/** JSON and text as values, everything else as `Uint8Array`. */
	payload?: unknown;
	/** Media type of the payload. */
	contentType?: string;
	/** Instead of the payload where payloads together are over 1 MiB. */
	payloadSize?: number;
	/** The key of the waitpoint it came to. */
	waitpoint?: string;
	/** Who sent it. */
	source?: {
		/** Type of the sender. */
		type: string;
		/** Who the sender is. */
		identity: string;
	};
	/** Free text of the sender. */
	category?: string;
	/** Free text of the sender. */
	correlationId?: string;
	/** When it came: Unix milliseconds of the store's clock. */
	at?: number;
}

export function received({ payloadBase64, waitpointId: _, ...signal }: SignalView): ReceivedSignal {
	if (payloadBase64 === undefined) return signal;
	return { ...signal, payload: new Uint8Array(Buffer.from(payloadBase64, "base64")) };
}

/** Whether it stands for the end of the time there was to wait. */
export const isTimeout = ({ name, source }: SignalView): boolean => name === "timeout" && source?.type === "system";
