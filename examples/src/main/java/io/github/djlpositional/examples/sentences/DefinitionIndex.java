package io.github.djlpositional.examples.sentences;

import io.github.djlpositional.examples.PartOfSpeech;
import io.github.djlpositional.examples.Progress;
import io.github.djlpositional.examples.UserError;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.KnnFloatVectorField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.index.CorruptIndexException;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexFormatTooNewException;
import org.apache.lucene.index.IndexFormatTooOldException;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.VectorSimilarityFunction;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.KnnFloatVectorQuery;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.store.LockObtainFailedException;
import org.apache.lucene.util.IOUtils;

/**
 * Definitions with their vectors in a folder: an index of Lucene, which finds the nearest vectors through a graph, HNSW
 * (Malkov and Yashunin, 2016), without comparing all.
 *
 * <p>The folder is replaced atomically: Lucene writes new files beside the old ones, and a commit makes them the index.
 * The commit holds a checksum of what the vectors were computed from.
 */
final class DefinitionIndex implements Closeable {

    private static final String CHECKSUM = "checksum";
    private static final String VECTOR = "vector";

    /** The vectors of WordNet's definitions and their graph fit, and are written at once. */
    private static final int BUFFER_MEGABYTES = 512;

    /** HNSW considers this number of the nearest; with more, it misses fewer of them. */
    private static final int CANDIDATES = 100;

    private final DirectoryReader reader;

    private DefinitionIndex(DirectoryReader reader) {
        this.reader = reader;
    }

    /**
     * A definition that was found.
     *
     * @param similarity the cosine of the angle between its vector and the query's
     */
    record Hit(Definition definition, double similarity) {}

    /**
     * Returns whether a folder has an index with this checksum.
     *
     * @throws UserError if the folder has an index that is damaged, or of another version of Lucene
     */
    static boolean isCurrent(Path folder, String checksum) throws IOException {
        try (Directory directory = FSDirectory.open(folder)) {
            if (!DirectoryReader.indexExists(directory)) {
                return false;
            }
            try (DirectoryReader reader = DirectoryReader.open(directory)) {
                return checksum.equals(reader.getIndexCommit().getUserData().get(CHECKSUM));
            } catch (CorruptIndexException | IndexFormatTooOldException | IndexFormatTooNewException e) {
                throw new UserError(
                        "the index in '" + folder + "' cannot be read (" + e.getMessage()
                                + "): expected one of Lucene 9; delete the folder, or use another one with --index",
                        e);
            }
        }
    }

    /**
     * Writes an index, and replaces that of the folder if there is one.
     *
     * @param folder the folder, which is created if it does not exist
     * @param checksum a checksum of the definitions and the encoder
     * @param definitions the definitions
     * @param encoder computes the vectors
     */
    static void write(Path folder, String checksum, List<Definition> definitions, SentenceEncoder encoder)
            throws IOException {
        List<TokenBatch> batches =
                encoder.batches(definitions.stream().map(Definition::text).toList(), SentenceEncoder.TOKENS_PER_BATCH);
        Progress progress = new Progress(
                "Embedding", batches.stream().mapToLong(TokenBatch::tokens).sum());
        IndexWriterConfig config = new IndexWriterConfig()
                .setOpenMode(IndexWriterConfig.OpenMode.CREATE)
                .setCommitOnClose(false)
                .setRAMBufferSizeMB(BUFFER_MEGABYTES);
        try (Directory directory = FSDirectory.open(folder);
                IndexWriter writer = new IndexWriter(directory, config)) {
            for (TokenBatch batch : batches) {
                float[][] vectors = encoder.encode(batch);
                for (int i = 0; i < vectors.length; i++) {
                    writer.addDocument(document(definitions.get(batch.texts().get(i)), vectors[i]));
                }
                progress.add(batch.tokens());
            }
            writer.setLiveCommitData(Map.of(CHECKSUM, checksum).entrySet());
            writer.commit();
        } catch (LockObtainFailedException e) {
            throw new UserError(
                    "'" + folder
                            + "' is being written by another program: wait for it, or use another folder with --index",
                    e);
        }
    }

    private static Document document(Definition definition, float[] vector) {
        Document document = new Document();
        document.add(new KnnFloatVectorField(VECTOR, vector, VectorSimilarityFunction.DOT_PRODUCT));
        document.add(new StoredField("partOfSpeech", definition.partOfSpeech().name()));
        document.add(new StoredField("word", definition.word()));
        document.add(new StoredField("text", definition.text()));
        return document;
    }

    /**
     * Opens the index in a folder.
     *
     * @return the index; closed by the caller
     */
    static DefinitionIndex open(Path folder) throws IOException {
        return new DefinitionIndex(DirectoryReader.open(FSDirectory.open(folder)));
    }

    /**
     * Finds definitions.
     *
     * @param query a unit vector
     * @param count the number of definitions
     * @return the nearest, with the greatest similarity first
     */
    List<Hit> nearest(float[] query, int count) throws IOException {
        IndexSearcher searcher = new IndexSearcher(reader);
        KnnFloatVectorQuery nearest = new KnnFloatVectorQuery(VECTOR, query, Math.max(count, CANDIDATES));
        List<Hit> hits = new ArrayList<>();
        for (ScoreDoc found : searcher.search(nearest, count).scoreDocs) {
            Document document = searcher.storedFields().document(found.doc);
            Definition definition = new Definition(
                    PartOfSpeech.valueOf(document.get("partOfSpeech")), document.get("word"), document.get("text"));
            // Lucene's score of a scalar product p is (1 + p) / 2
            hits.add(new Hit(definition, 2 * found.score - 1));
        }
        return hits;
    }

    @Override
    public void close() throws IOException {
        IOUtils.close(reader, reader.directory());
    }
}
