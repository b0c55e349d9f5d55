/* FLAC of what a WAV of whole numbers has, where there is libsndfile. Include after check.h. */
#ifndef FLAC_H
#define FLAC_H

#if HEED_SNDFILE
#include <sndfile.h>

/* Whether it could be written. */
CHECK_UNUSED static bool put_flac(const char *flac, const char *wav)
{
    short sample[4096];
    SF_INFO info = {0};
    SNDFILE *from = sf_open(wav, SFM_READ, &info);
    assert_non_null(from);
    info.format = SF_FORMAT_FLAC | SF_FORMAT_PCM_16;
    SNDFILE *to = sf_open(flac, SFM_WRITE, &info);
    assert_non_null(to);
    for (sf_count_t n; (n = sf_read_short(from, sample, COUNT_OF(sample))) > 0;)
        assert_int_equal(sf_write_short(to, sample, n), n);
    sf_close(from);
    sf_close(to);
    return true;
}
#else
CHECK_UNUSED static bool put_flac(const char *flac, const char *wav)
{
    (void)flac, (void)wav;
    return false;
}
#endif

#endif
