import static dev.langchain4j.data.message.ChatMessageDeserializer.messagesFromJson;
import static dev.langchain4j.data.message.ChatMessageSerializer.messagesToJson;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.audio.Audio;
import dev.langchain4j.data.image.Image;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.AudioContent;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.CustomMessage;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.PdfFileContent;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.data.message.VideoContent;
import dev.langchain4j.data.pdf.PdfFile;
import dev.langchain4j.data.video.Video;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;

/**
 * Reads and writes messages with LangChain4j's codec: one command a line, one answer a line.
 *
 * <ul>
 *   <li>{@code rewrite JSON}: reads a list and answers with its JSON.
 *   <li>{@code make SEED}: keeps a list of random messages and answers with its JSON.
 *   <li>{@code same JSON}: answers {@code true} if a list is equal to the kept one.
 * </ul>
 */
public final class Codec {
    private static final String[] TEXTS = {
        "", " ", "hello", "two\nlines\r\n", "\"quoted\" \\ / \b\f\t", "{{it}} </s> <think>", "äöü 你好 🙂",
        "\u0000\u001f\u007f\u2028\ufeff", "null", "{\"a\":[1,2.50,\"x\"]}",
    };

    private final Random random;

    private Codec(long seed) {
        random = new Random(seed);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        PrintStream out = new PrintStream(System.out, false, UTF_8);
        List<ChatMessage> kept = List.of();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ", 2);
            String answer;
            try {
                switch (parts[0]) {
                    case "rewrite" -> answer = messagesToJson(messagesFromJson(parts[1]));
                    case "make" -> {
                        kept = new Codec(Long.parseLong(parts[1])).messages();
                        answer = messagesToJson(kept);
                    }
                    default -> {
                        List<ChatMessage> read = messagesFromJson(parts[1]);
                        answer = read.equals(kept) ? "true" : "read " + read + " instead of " + kept;
                    }
                }
            } catch (RuntimeException error) {
                answer = "error: " + error;
            }
            out.println(answer.replaceAll("[\\r\\n]", " "));
            out.flush();
        }
    }

    private List<ChatMessage> messages() {
        return list(6, this::message);
    }

    private ChatMessage message() {
        switch (random.nextInt(5)) {
            case 0:
                return new SystemMessage(nonBlank());
            case 1:
                return UserMessage.builder().name(optional(this::nonBlank)).contents(nonEmpty(this::content))
                        .attributes(attributes()).build();
            case 2:
                return AiMessage.builder().text(optional(this::text)).thinking(optional(this::text))
                        .toolExecutionRequests(list(3, this::call)).attributes(attributes()).build();
            case 3:
                return ToolExecutionResultMessage.builder().id(optional(this::nonBlank)).toolName(nonBlank())
                        .contents(nonEmpty(this::content)).isError(optional(() -> true))
                        .attributes(attributes()).build();
            default:
                return new CustomMessage(attributes());
        }
    }

    private ToolExecutionRequest call() {
        return ToolExecutionRequest.builder().id(optional(this::nonBlank)).name(nonBlank())
                .arguments(text()).build();
    }

    private Content content() {
        boolean url = random.nextBoolean();
        String source = url ? "https://example.org/" + random.nextInt(9) + "?q=%20&a=b#c" : "aGVsbG8=";
        String type = optional(() -> "x/" + random.nextInt(9));
        switch (random.nextInt(5)) {
            case 0:
                return new TextContent(nonBlank());
            case 1:
                Image.Builder image = Image.builder().mimeType(type);
                ImageContent.DetailLevel[] levels = ImageContent.DetailLevel.values();
                return new ImageContent((url ? image.url(source) : image.base64Data(source)).build(),
                        levels[random.nextInt(levels.length)]);
            case 2:
                Audio.Builder audio = Audio.builder().mimeType(type);
                return new AudioContent((url ? audio.url(source) : audio.base64Data(source)).build());
            case 3:
                Video.Builder video = Video.builder().mimeType(type);
                return new VideoContent((url ? video.url(source) : video.base64Data(source)).build());
            default:
                PdfFile.Builder file = PdfFile.builder().mimeType(type);
                return new PdfFileContent((url ? file.url(source) : file.base64Data(source)).build());
        }
    }

    private Map<String, Object> attributes() {
        Map<String, Object> attributes = new LinkedHashMap<>();
        for (int count = random.nextInt(3); count > 0; count--) {
            Object[] values = {
                text(), random.nextInt(), random.nextInt() + (1L << 40), 0.5, 1e300, random.nextBoolean(),
                Arrays.asList(text(), null, 7), Map.of(text(), Map.of("k", List.of())),
            };
            attributes.put(text(), values[random.nextInt(values.length)]);
        }
        return attributes;
    }

    private String text() {
        return TEXTS[random.nextInt(TEXTS.length)];
    }

    private String nonBlank() {
        return TEXTS[2 + random.nextInt(TEXTS.length - 2)];
    }

    private <T> T optional(Supplier<T> value) {
        return random.nextBoolean() ? value.get() : null;
    }

    private <T> List<T> nonEmpty(Supplier<T> item) {
        List<T> items = list(3, item);
        items.add(item.get());
        return items;
    }

    private <T> List<T> list(int most, Supplier<T> item) {
        List<T> items = new ArrayList<>();
        for (int count = random.nextInt(most + 1); count > 0; count--) {
            items.add(item.get());
        }
        return items;
    }
}
